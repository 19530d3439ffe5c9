#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

@test "a missing file, a folder, an empty file, rubbish: status 3 and one line" {
  mkdir folder
  : >empty
  printf 'no graph at all\n' >rubbish
  head -c 4000 /dev/zero >zeros
  for file in missing folder empty rubbish zeros; do
    for words in "msf $file" "msf --stream $file" "convert $file x.mtx" "verify msf $file $file"; do
      # shellcheck disable=SC2086
      expect 3 dzo $words
      one_error "$file:"
    done
  done
  no_leftovers folder empty rubbish zeros
}

@test "an unreadable file" {
  [ "$(id -u)" -ne 0 ] || skip "root reads everything"
  small_graph >g.gr
  chmod 000 g.gr
  expect 3 dzo msf g.gr
  one_error "g.gr: "
}

@test "empty standard input" {
  expect 3 dzo msf -
  one_error "<stdin>"
}

@test "malformed text names file, line and reason" {
  while IFS='|' read -r name line text; do
    printf '%b' "$text" >"$name"
    format=auto # a graph this small could be of several formats
    case $name in *.graph) format=metis ;; esac
    for words in "--format $format" "--format $format --stream"; do
      # shellcheck disable=SC2086
      expect 3 dzo msf $words "$name"
      one_error "$name:$line: "
    done
  done <<'END'
a.mtx|3|%%MatrixMarket matrix coordinate real general\n3 3 2\n1 4 1\n2 1 1\n
b.mtx|4|%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1\n2 1 word\n
c.mtx|1|%%MatrixMarket matrix coordinate complex general\n3 3 1\n1 2 1 1\n
d.mtx|4|%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1\n2 1 nan\n
e.gr|2|p sp 3 2\na 1 9 1\na 2 3 1\n
f.gr|3|p sp 3 2\na 1 2 1\na 2 3\n
g.graph|3|3 2 1\n2 5\n1 5 4 1\n2 1\n
END
}

@test "a header that promises too much is an error, not an allocation" {
  printf '%s\n' '%%MatrixMarket matrix coordinate real general' '1000 1000 1000000000000' '1 2 1' >huge.mtx
  printf '%s\n' 'p sp 1000 1000000000000' 'a 1 2 1' >huge.gr
  for file in huge.mtx huge.gr; do
    expect 3 dzo msf $file
    one_error "$file"
  done
}

@test "truncated gzip" {
  head -c 2000 "$ROADS" >cut.gr.gz
  expect 3 dzo msf cut.gr.gz
  one_error "cut.gr.gz"
  expect 3 dzo msf --stream cut.gr.gz
  one_error "cut.gr.gz"
}

@test "every malformed real file gives one line and status 3" {
  need_data
  for name in mangled1 mangled2 mangled3 mangled4 mangled5 mangled6 mangled7 mangled8 mangled9 \
    mangled10 mangled11 mangled12 mangled13 mangled15 mangled16 mangled_format; do
    for words in "" --stream; do
      expect 3 dzo msf $words "$DZO_TEST_DATA/mst/mangled/$name.mtx"
      one_error "$name.mtx:"
    done
  done
  for name in complex empty; do
    expect 3 dzo msf "$DZO_TEST_DATA/mst/$name.mtx"
    one_error "$name.mtx:"
  done
}

@test "output that cannot be written: status 1, one line, nothing left" {
  small_graph >g.gr
  for words in "msf g.gr -o nowhere/f" "msf g.gr --components nowhere/f" \
    "convert g.gr nowhere/f.mtx" "generate rmat --scale 4 -o nowhere/f.mtx"; do
    # shellcheck disable=SC2086
    expect 1 dzo $words
    one_error "nowhere/f"
  done
  no_leftovers g.gr
}

@test "a full disk: status 1, one line" {
  [ -w /dev/full ] || skip "needs /dev/full"
  small_graph >g.gr
  for words in "msf g.gr -o /dev/full" "convert g.gr /dev/full --output-format mtx" \
    "generate rmat --scale 6 -o /dev/full --format mtx"; do
    # shellcheck disable=SC2086
    expect 1 dzo $words
    one_error "No space left on device"
  done
  for words in "info" "msf g.gr" "msf g.gr --json" "msf g.gr -o -" "verify msf g.gr g.gr --help" \
    "generate rmat --scale 6" "convert g.gr -" "--help" "--version"; do
    status=0
    # shellcheck disable=SC2086
    dzo $words -- >/dev/full 2>err || status=$?
    : >out
    [ "$status" -eq 1 ]
    grep -q "No space left on device" err
  done
}

@test "a full disk leaves the older file as it was" {
  small_graph >g.gr
  echo old >f
  # A limit on file sizes stands in for a disk that fills up.
  status=0
  (
    ulimit -f 8
    trap '' XFSZ
    dzo generate rmat --scale 12 --format mtx -o f
  ) >out 2>err || status=$?
  [ "$status" -eq 1 ]
  [ "$(wc -l <err)" -eq 1 ]
  grep -q '^dzo: f: ' err
  [ "$(cat f)" = old ]
  no_leftovers f g.gr
}

@test "a format that cannot hold the graph: status 1, nothing written" {
  printf '%s\n' '%%MatrixMarket matrix coordinate real general' '2 2 1' '1 2 0.5' >half.mtx
  expect 1 dzo convert half.mtx half.graph
  one_error "0.5"
  no_leftovers half.mtx
}

@test "memory that runs out: status 1, one line" {
  [ -z "${DZO_SANITIZE:-}" ] || skip "sanitizers need more address space"
  small_graph >g.gr
  (
    ulimit -v 400000 || exit 0
    expect 1 dzo generate rmat --scale 24 -o g.mtx
    one_error "out of memory"
    expect 0 dzo generate rmat --scale 18 -o g.dzo --threads 1
    ulimit -v 150000
    expect 1 dzo msf g.dzo --memory 64G --threads 1
    grep -q '^dzo: out of memory' err
    grep -q '^dzo: --stream takes memory' err
  )
}

@test "a closed pipe ends it silently with 141" {
  dzo generate rmat --scale 14 --weights u32 -o g.el
  for words in "generate rmat --scale 14" "convert g.el - --output-format csv" "msf g.el -o - -q"; do
    # shellcheck disable=SC2086
    {
      code=0
      dzo $words 2>err || code=$?
      echo $code >code
    } | head -n 1 >/dev/null
    [ "$(cat code)" -eq 141 ]
    [ ! -s err ]
  done
}

@test "closed standard streams do no harm" {
  small_graph >g.gr
  dzo msf g.gr -q -o wanted >/dev/null
  status=0
  dzo msf g.gr -o f >&- 2>err || status=$?
  [ "$status" -eq 1 ]
  grep -q '^dzo: <stdout>: ' err
  cmp wanted f
  status=0
  dzo msf g.gr -o f >out 2>&- <&- || status=$?
  [ "$status" -eq 0 ]
  cmp wanted f
  status=0
  dzo msf - <&- >out 2>err || status=$?
  [ "$status" -eq 3 ]
  one_error "<stdin>"
}
