#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

# Which devices may have found a forest. With hybrid it is the better one, or both.
devices() {
  case ${DZO_DEVICE:-cpu} in
  hybrid) echo '(cpu|cuda|hybrid)' ;;
  *) echo "${DZO_DEVICE:-cpu}" ;;
  esac
}

@test "the report of a small graph" {
  small_graph >g.gr
  expect 0 dzo msf g.gr
  [ "$(field graph)" = "g.gr (dimacs)" ]
  [ "$(field vertices)" = 6 ]
  [ "$(field edges)" = 6 ]
  [ "$(field 'forest edges')" = 3 ]
  [ "$(field components)" = 3 ]
  [ "$(field weight)" = 10 ]
  field device | grep -qE "^$(devices), [0-9]+ threads?$"
  field time | grep -qE '^read .* m?s, build .* m?s, solve .* m?s, total .* m?s$'
  [ -z "$(field verified)" ]
  [ ! -s err ]
}

@test "--verify says so" {
  small_graph >g.gr
  expect 0 dzo msf --verify g.gr
  field verified | grep -q minimal
}

@test "--json has the agreed fields, with exact numbers" {
  need_python
  small_graph >g.gr
  expect 0 dzo msf g.gr --json --verify --threads 2
  [ ! -s err ]
  [ "$(json 'd["graph"]')" = "{'file': 'g.gr', 'format': 'dimacs', 'vertices': 6, 'edges': 6, 'weights': 'i64'}" ]
  [ "$(json 'd["forest"]')" = "{'edges': 3, 'components': 3, 'weight': 10, 'maximum': False}" ]
  json 'd["device"]' | grep -qE "^$(devices)$"
  [ "$(json 'd["threads"], d["verified"], d["streamed"]')" = "(2, True, False)" ]
  [ "$(json 'all(d["seconds"][k] >= 0 for k in ["read", "build", "solve", "write", "total"])')" = True ]
  [ "$(json 'd["memory"]["allocated"] > 0 and d["memory"]["resident"] > 0')" = True ]
  expect 0 dzo msf g.gr --json
  [ "$(json 'd["verified"]')" = None ]
}

@test "sums beyond 64 bits are exact" {
  need_python
  cat >big.mtx <<'END'
%%MatrixMarket matrix coordinate integer symmetric
4 4 3
2 1 18446744073709551615
3 1 18446744073709551614
4 1 18446744073709551613
END
  expect 0 dzo msf big.mtx --json
  [ "$(json 'd["forest"]["weight"], d["graph"]["weights"]')" = "(55340232221128654842, 'u64')" ]
  expect 0 dzo msf big.mtx
  [ "$(field weight)" = 55340232221128654842 ]
  cat >low.mtx <<'END'
%%MatrixMarket matrix coordinate integer symmetric
3 3 2
2 1 -9223372036854775808
3 1 -9223372036854775807
END
  expect 0 dzo msf low.mtx --json
  [ "$(json 'd["forest"]["weight"]')" = -18446744073709551615 ]
}

@test "floating sums are rounded once" {
  need_python
  cat >f.mtx <<'END'
%%MatrixMarket matrix coordinate real symmetric
4 4 3
2 1 1e16
3 2 1
4 3 -1e16
END
  expect 0 dzo msf f.mtx --json
  [ "$(json 'd["forest"]["weight"]')" = 1 ]
  printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '2 2 1' '2 1 inf' >inf.mtx
  expect 0 dzo msf inf.mtx --json
  [ "$(json 'd["forest"]["weight"]')" = inf ]
  [ "$(json 'type(d["forest"]["weight"]).__name__')" = str ]
}

@test "--maximum" {
  small_graph >g.gr
  expect 0 dzo msf --maximum --verify g.gr -o f
  [ "$(field weight)" = 14 ]
  printf '%s\n' '1 2 3 5' '2 1 3 2' '5 4 5 7' | diff - f
}

@test "-o edges, with the names of the input" {
  small_graph >g.gr
  expect 0 dzo msf g.gr -o f
  printf '%s\n' '0 1 2 1' '2 1 3 2' '5 4 5 7' | diff - f
  printf '%s\n' '# names may be anything' '7000000000 12 2.5' '12 99 0.25' '99 7000000000 9' >named.txt
  expect 0 dzo msf named.txt -o f --components t
  sort f >sorted
  awk '{ print $1, $4 }' f | diff - <(printf '%s\n' '0 2.5' '1 0.25')
  awk '{ print ($2 < $3 ? $2 " " $3 : $3 " " $2) }' f | diff - <(printf '%s\n' '12 7000000000' '12 99')
  diff t <(printf '%s\n' '12 0' '99 0' '7000000000 0')
}

@test "the forest on standard output, the report on standard error" {
  small_graph >g.gr
  expect 0 dzo msf g.gr -o -
  printf '%s\n' '0 1 2 1' '2 1 3 2' '5 4 5 7' | diff - out
  [ "$(field weight err)" = 10 ]
  expect 0 dzo msf g.gr -o - --quiet
  [ "$(wc -l <out)" -eq 3 ]
  [ ! -s err ]
  expect 0 dzo msf g.gr --components - --quiet
  printf '%s\n' '1 0' '2 0' '3 0' '4 1' '5 1' '6 2' | diff - out
}

@test "every output format is accepted by dzo verify" {
  small_graph >g.gr
  for format in edges graphhpc mtx npy; do
    expect 0 dzo msf g.gr -o f.$format --output-format $format
    expect 0 dzo verify msf g.gr f.$format
  done
  [ "$(head -c 6 f.npy | tail -c 5)" = NUMPY ]
  head -1 f.mtx | grep -q '^%%MatrixMarket matrix coordinate integer symmetric'
}

@test "npy files are NumPy's" {
  need_python
  python3 -c 'import numpy' 2>/dev/null || skip "needs numpy"
  small_graph >g.gr
  dzo msf g.gr -q -o f.npy --output-format npy --components t.npy
  [ "$(python3 -c 'import numpy as n; a = n.load("f.npy"); print(a.dtype, a.tolist())')" = "uint64 [0, 2, 5]" ]
  [ "$(python3 -c 'import numpy as n; a = n.load("t.npy"); print(a.dtype, a.tolist())')" = "uint32 [0, 0, 0, 1, 1, 2]" ]
}

@test "standard input, gzip and zstd" {
  small_graph >g.gr
  dzo msf - <g.gr >out
  [ "$(field weight)" = 10 ]
  gzip -k g.gr
  dzo msf g.gr.gz >out
  [ "$(field weight)" = 10 ]
  dzo msf - <g.gr.gz >out
  [ "$(field weight)" = 10 ]
  cat g.gr | dzo msf - --stream >out
  [ "$(field weight)" = 10 ]
  for words in "" --stream --verify; do
    # shellcheck disable=SC2086
    timeout 20 "$DZO_PROGRAM" msf $words <(cat g.gr) >out
    [ "$(field weight)" = 10 ]
  done
  expect 2 dzo msf --stream --verify <(cat g.gr)
  dzo msf -q g.gr -o f >out
  timeout 20 "$DZO_PROGRAM" verify msf <(cat g.gr) <(cat f)
  command -v zstd >/dev/null || skip "needs zstd for the rest"
  zstd -q g.gr
  dzo msf g.gr.zst >out
  [ "$(field weight)" = 10 ]
}

@test "a real road network: known answers, and one forest whatever the threads" {
  expect 0 dzo msf "$ROADS" --verify -o one --threads 1
  [ "$(field vertices)" = 15591 ]
  [ "$(field edges)" = 19846 ]
  [ "$(field components)" = 6 ]
  [ "$(field 'forest edges')" = 15585 ]
  [ "$(field weight)" = 88612409 ]
  [ "$(wc -l <one)" -eq 15585 ]
  for threads in 2 3 8; do
    expect 0 dzo msf "$ROADS" -o other --threads $threads
    cmp one other
  done
  expect 0 dzo msf "$ROADS" -o other --stream --verify
  cmp one other
  grep -q 'streamed' out
  expect 0 dzo msf "$ROADS" -o other --sort
  cmp one other
  field time | grep -q sort
  expect 0 dzo msf "$ROADS" --maximum --verify
  [ "$(field weight)" = 134497085 ]
}

@test "the same forest from a skewed graph with many ties, for any threads and streamed" {
  expect 0 dzo generate rmat --scale 12 --weights none -o g.el
  expect 0 dzo msf g.el -o one --components trees --threads 1 --verify
  for words in "--threads 2" "--threads 3" "--threads 8" "--stream" "--stream --threads 3"; do
    # shellcheck disable=SC2086
    expect 0 dzo msf g.el -o other --components others $words
    cmp one other
    cmp trees others
  done
  for format in graphhpc mtx npy; do
    expect 0 dzo msf g.el -o one --output-format $format
    expect 0 dzo msf g.el -o other --output-format $format --stream
    cmp one other
  done
}

@test "a graph that does not fit --memory is streamed, and says so" {
  expect 0 dzo generate rmat --scale 14 --weights u32 -o g.el
  expect 0 dzo msf g.el -o one
  [ ! -s err ]
  expect 0 dzo msf g.el -o other --memory 8M
  cmp one other
  grep -q 'so it is streamed' err
  [ "$(wc -l <err)" -eq 1 ]
  expect 0 dzo msf g.el -o other --memory 8M --quiet
  [ ! -s err ]
  expect 0 dzo msf g.el -o other --memory 64G
  [ ! -s err ]
}

@test "the seed and the GPU's memory are accepted and change nothing" {
  small_graph >g.gr
  expect 0 dzo msf g.gr --seed 18446744073709551615 --gpu-memory 1G --no-progress -o f
  expect 0 dzo msf g.gr -o g
  cmp f g
}

@test "the empty graph and one vertex" {
  printf '%s\n' '%%MatrixMarket matrix coordinate real general' '1 1 0' >one.mtx
  expect 0 dzo msf one.mtx --verify -o f
  [ "$(field components)" = 1 ]
  [ "$(field weight)" = 0 ]
  [ ! -s f ]
  printf '%s\n' '%%MatrixMarket matrix coordinate real general' '0 0 0' >none.mtx
  expect 0 dzo msf none.mtx --verify
  [ "$(field components)" = 0 ]
}

@test "file names of any bytes" {
  need_python
  local name=$'odd "name" \\ \t \xff\xc3\xa9.gr'
  small_graph >"$name"
  expect 0 dzo msf --json -- "$name"
  [ "$(json 'd["graph"]["file"]')" = "$(printf 'odd "name" \\ \t \xef\xbf\xbd\xc3\xa9.gr')" ]
  small_graph >-dash.gr
  expect 0 dzo msf -- -dash.gr
}

@test "the formats that are named are the formats that are read" {
  small_graph >g.gr
  for format in mtx dimacs snap csv konect metis graphhpc egr gap galois dzo; do
    printf '%s\n' 'p sp 3 2' 'a 1 2 1' 'a 2 3 2' >w.gr
    expect 0 dzo convert w.gr w.$format --output-format $format
    expect 0 dzo msf w.$format --format $format
    [ "$(field weight)" = 3 ]
    field graph | grep -qF "($format)"
    expect 0 dzo msf w.$format
    [ "$(field weight)" = 3 ]
  done
}

@test "real files: known answers, checked, in memory and streamed" {
  need_data
  while read -r file vertices edges components weight; do
    for words in "" --stream; do
      expect 0 dzo msf "$DZO_TEST_DATA/mst/$file" --verify $words -o forest$words
      [ "$(field vertices)" = "$vertices" ]
      [ "$(field edges)" = "$edges" ]
      [ "$(field components)" = "$components" ]
      [ "$(field 'forest edges')" = $((vertices - components)) ]
      if ! awk -v a="$(field weight)" -v b="$weight" 'BEGIN { d = a - b; if (d < 0) d = -d
        if (b < 0) b = -b; exit !(d <= 1e-14 * b + 1e-14) }'; then
        echo "$file: weight $(field weight), known $weight"
        return 1
      fi
      [[ $weight == *.* ]] || [ "$(field weight)" = "$weight" ]
    done
    cmp forest forest--stream
  done < <(grep -v '^#' "$HERE/known.txt")
}
