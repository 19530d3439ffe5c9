#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load table_helper

# Rows by awk, for integers below 2^53; has1 and has2: the second column is a value.
join_by_awk='
  NR == FNR { of[$1] = of[$1] " " (has2 ? $2 : FNR - 1); next }
  { n = split(of[$1], found, " ")
    for (i = 1; i <= n; i++) print $1 "," (has1 ? $2 : FNR - 1) "," found[i] }'
lookup_by_awk='
  NR == FNR { if (!($1 in of)) of[$1] = has2 ? $2 : FNR - 1; next }
  { print $1 (has1 ? "," $2 : "") "," of[$1] }'

# ---- count -----------------------------------------------------------------------------------

@test "counts are those of sort and uniq: types, distributions, formats, threads" {
  for words in "--count 30000 --distribution zipf --type u32" \
    "--count 30000 --distribution uniform --range 5000 --type u64" \
    "--count 20000 --type u64" "--count 1 --type u32"; do
    # shellcheck disable=SC2086
    keys $words | tee k.txt | reference_counts >wanted
    type=${words##* }
    for file in k.csv k.npy k.raw; do
      # shellcheck disable=SC2086
      dzo generate keys $words -o $file
    done
    gzip -kf k.raw k.csv k.npy
    for file in k.txt k.csv k.npy k.raw k.raw.gz k.csv.gz k.npy.gz; do
      gives wanted count $file --type "$type"
    done
    gives wanted count k.raw --type "$type" --threads 1 --verify
    for file in k.csv k.npy k.raw k.raw.gz; do
      table count - --type "$type" -q <$file >given
      cmp wanted given
      # shellcheck disable=SC2094
      cat $file | table count - --type "$type" -q --threads 3 >given
      cmp wanted given
    done
  done
}

@test "counts with zstd" {
  command -v zstd >/dev/null || skip "needs zstd"
  keys --count 100000 --distribution zipf | tee k.txt | reference_counts >wanted
  zstd -q k.txt
  gives wanted count k.txt.zst
}

@test "keys 0 and all ones" {
  printf '%s\n' 0 18446744073709551615 0 18446744073709551614 1 18446744073709551615 >k.txt
  printf '%s\n' key,count 0,2 1,1 18446744073709551614,1 18446744073709551615,2 >wanted
  gives wanted count k.txt --type u64 --verify
  printf '%s\n' 0 4294967295 0 4294967295 0 >k.txt
  printf '%s\n' key,count 0,3 4294967295,2 >wanted
  gives wanted count k.txt --type u32 --verify
  printf '%s\n' -1 -2147483648 2147483647 -1 0 >k.txt
  printf '%s\n' key,count -2147483648,1 -1,2 0,1 2147483647,1 >wanted
  gives wanted count k.txt --type i32 --verify
  gives wanted count k.txt --verify
  printf '%s\n' -9223372036854775808 9223372036854775807 -1 -1 >k.txt
  printf '%s\n' key,count -9223372036854775808,1 -1,2 9223372036854775807,1 >wanted
  gives wanted count k.txt --verify
}

@test "order: by key, by count, the top ones, none" {
  keys --count 50000 --distribution zipf --distinct 9000 >k.txt
  reference_counts <k.txt >by_key
  (head -n 1 by_key && tail -n +2 by_key | sort -t, -k2,2nr -k1,1n) >by_count
  gives by_key count k.txt --sort key
  gives by_count count k.txt --sort count
  for k in 1 7 500 5000 100000; do
    head -n $((k + 1)) by_count >wanted
    gives wanted count k.txt --top $k
    gives wanted count k.txt --top $k --sort count --type u32
    head -n $((k + 1)) by_key >wanted
    gives wanted count k.txt --top $k --sort key
  done
  table count k.txt --sort none -q | sort >given
  sort by_key | cmp - given
}

@test "many different keys, for which room is made ahead" {
  [ -z "${DZO_SANITIZE:-}" ] || skip "slow with sanitizers"
  dzo generate keys --count 17000000 -o k.u32 -q
  expect 0 table distinct k.u32
  [ "$(field distinct)" = 17000000 ]
  dzo generate keys --count 17000000 --distribution uniform --range 12000000 -o k.u32 -q
  expect 0 table count k.u32 --verify --top 1
  [ "$(grep '^verified' err)" = "verified      sorting gives the same" ]
}

@test "npy and raw outputs hold the same as csv" {
  keys --count 20000 --distribution zipf --type u32 >k.txt
  reference_counts <k.txt | tail -n +2 >wanted
  table count k.txt --type u32 -o c.raw
  od -An -v -t u4 -w12 c.raw | awk '{ print $1 "," $2 + $3 * 4294967296 }' | cmp wanted -
  table count k.txt --type u32 -o c.npy
  head -c 6 c.npy | cmp - <(printf '\223NUMPY')
  tail -c "$(stat -c %s c.raw)" c.npy | cmp - c.raw
  [ $((($(stat -c %s c.npy) - $(stat -c %s c.raw)) % 64)) -eq 0 ]
  table count k.txt --type u32 -o - --output-format raw -q | cmp - c.raw
  table distinct k.txt -q -o d.npy # i64
  cut -d, -f1 wanted >distinct
  tail -c $((8 * $(wc -l <distinct))) d.npy | od -An -v -t d8 -w8 | tr -d ' ' | cmp distinct -
  # What is written can be read: a field of records by its name.
  (echo key,sum && cat wanted) >sums
  gives sums count c.npy --column key --values count --aggregate sum
}

@test "a report for people, and JSON for programs" {
  keys --count 1000 --distribution zipf >k.txt
  expect 0 table distinct k.txt
  [ "$(field records)" = 1000 ]
  [ "$(field distinct)" = "$(sort -u k.txt | wc -l)" ]
  expect 0 table count k.txt
  grep -q '^records  *1000$' err
  grep -q '^key,count$' out
  expect 0 table count k.txt --quiet
  [ ! -s err ]
  expect 0 table count k.txt -o c.csv
  [ "$(field records)" = 1000 ]
  need_python
  expect 0 table count k.txt --json --verify
  [ "$(json 'd["records"], d["distinct"] == len(set(open("k.txt"))), d["matched"], d["verified"], d["device"] in ("cpu", "cuda", "hybrid"), 0 < d["load"] <= 1')" = "(1000, True, None, True, True, True)" ]
  [ "$(json 'sorted(d["seconds"])')" = "['read', 'sort', 'table', 'total', 'verify', 'write']" ]
  [ ! -s err ]
  expect 0 table join k.txt k.txt --json -o pairs.csv
  [ "$(json 'd["records"], d["records2"], d["matched"], d["pairs"]')" = "(1000, 1000, 1000, $(tail -n +2 pairs.csv | wc -l))" ]
}

# ---- aggregates ------------------------------------------------------------------------------

@test "sums, least and greatest values are those of awk" {
  paste -d, <(keys --count 20000 --distribution zipf --distinct 3000) \
    <(keys --count 20000 --distribution uniform --range 2000001 --seed 5 | awk '{ print $1 - 1000000 }') >kv.csv
  for what in sum min max; do
    echo key,$what >wanted
    awk -F, -v what=$what '
      !($1 in r) { r[$1] = $2; next }
      what == "sum" { r[$1] += $2 }
      what == "min" && $2 < r[$1] { r[$1] = $2 }
      what == "max" && $2 > r[$1] { r[$1] = $2 }
      END { for (k in r) print k "," r[k] }' kv.csv | sort -t, -k1,1n >>wanted
    gives wanted count kv.csv --values 2 --aggregate $what --verify
    (head -n 1 wanted && tail -n +2 wanted | sort -t, -k2,2nr -k1,1n | head -n 50) >top
    gives top count kv.csv --values 2 --aggregate $what --top 50 --type u32 --values-type i32
  done
}

@test "sums are exact to the last bit of 64, and beyond they are errors" {
  printf '1,%s\n' 9223372036854775807 9223372036854775807 -9223372036854775808 -9223372036854775807 7 >s.csv
  printf '2,%s\n' -9223372036854775808 5 >>s.csv
  printf 'key,sum\n1,6\n2,-9223372036854775803\n' >wanted
  gives wanted count s.csv --values 2 --aggregate sum --verify
  printf '1,%s\n' 18446744073709551615 0 >u.csv
  printf '3,%s\n' 9223372036854775808 9223372036854775807 >>u.csv
  printf 'key,sum\n1,18446744073709551615\n3,18446744073709551615\n' >wanted
  gives wanted count u.csv --values 2 --aggregate sum --values-type u64 --verify
  printf -- '-7,%s\n' 9223372036854775807 1 >>s.csv
  expect 1 table count s.csv --values 2 --aggregate sum
  grep -q '^dzo: the sum of the values of key -7 is not within i64$' err
  expect 1 table count s.csv --values 2 --aggregate sum --json
  echo 3,1 >>u.csv
  expect 1 table count u.csv --values 2 --aggregate sum --values-type u64 -o x
  grep -q '^dzo: the sum of the values of key 3 is not within u64$' err
  [ ! -e x ]
  printf '1,%s\n' 18446744073709551615 0 9223372036854775808 >u.csv
  printf 'key,min\n1,0\n' >wanted
  gives wanted count u.csv --values 2 --aggregate min --values-type u64
  printf 'key,max\n1,18446744073709551615\n' >wanted
  gives wanted count u.csv --values 2 --aggregate max --values-type u64
}

@test "values from a second file, raw and npy" {
  dzo generate keys --count 5000 --distribution zipf -o k.raw
  dzo generate keys --count 5000 --distribution uniform --range 1000 --seed 3 -o v.raw
  paste -d, <(od -An -v -t u4 -w4 k.raw | tr -d ' ') <(od -An -v -t u4 -w4 v.raw | tr -d ' ') >kv.csv
  table count kv.csv --values 2 --aggregate sum -q >wanted
  # The sum is as the values: of i64 in CSV, of u32 here.
  gives wanted count k.raw --type u32 --values v.raw --aggregate sum --verify
  dzo generate keys --count 5000 --distribution zipf -o k.npy
  dzo generate keys --count 5000 --distribution uniform --range 1000 --seed 3 -o v.npy
  gzip -k k.npy
  gives wanted count k.npy --values v.npy --aggregate sum
  gives wanted count k.npy.gz --values v.npy --aggregate sum
  head -c 19996 v.raw >short.raw
  expect 3 table count k.raw --type u32 --values short.raw --aggregate sum
  one_error "short.raw: holds 4999 values for 5000 keys"
  gzip -k short.raw
  expect 3 table count k.raw --type u32 --values short.raw.gz --aggregate sum
  one_error "short.raw.gz: "
}

# ---- join and lookup -------------------------------------------------------------------------

@test "join and lookup are those of awk, duplicates on both sides" {
  paste -d, <(keys --count 3000 --distribution zipf --distinct 2000) <(keys --count 3000 --range 100000) >a.csv
  paste -d, <(keys --count 1500 --distribution zipf --distinct 2500) <(keys --count 1500 --range 99999 --seed 8) >b.csv
  (echo key,row,row2 && awk -F, "$join_by_awk" b.csv a.csv) >wanted
  gives wanted join a.csv b.csv --verify
  gives wanted join a.csv b.csv --threads 1 --type u32
  [ "$(wc -l <wanted)" -gt 3001 ]
  (echo key,value,value2 && awk -F, -v has1=1 -v has2=1 "$join_by_awk" b.csv a.csv) >wanted
  gives wanted join a.csv b.csv --values 2 --values2 2 --verify
  gives wanted join a.csv b.csv --values 2 --values2 2 --type u32
  (echo key,row2 && awk -F, "$lookup_by_awk" b.csv a.csv) >wanted
  gives wanted lookup a.csv b.csv --verify
  gives wanted lookup a.csv b.csv --type u32
  (echo key,value,value2 && awk -F, -v has1=1 -v has2=1 "$lookup_by_awk" b.csv a.csv) >wanted
  gives wanted lookup a.csv b.csv --values 2 --values2 2 --verify
  # The other way round, through a pipe.
  (echo key,row,row2 && awk -F, "$join_by_awk" a.csv b.csv) >wanted
  cat b.csv | table join - a.csv -q | cmp wanted -
  cat a.csv | table join b.csv - -q | cmp wanted -
}

@test "one key a thousand times on both sides" {
  for i in $(seq 1000); do echo 7; done >a.csv
  table join a.csv a.csv -q | tail -n +2 | awk -F, '
    $1 != 7 || $2 != int((NR - 1) / 1000) || $3 != (NR - 1) % 1000 { bad = 1 }
    END { exit bad || NR != 1000000 }'
  expect 0 table join a.csv a.csv --verify -o j.raw
  [ "$(stat -c %s j.raw)" -eq 24000000 ]
}

@test "lookup in npy and raw tells what was not found" {
  printf '%s\n' 5 6 7 6 >a.csv
  printf '%s\n' 7,70 6,0 6,61 >b.csv
  table lookup a.csv b.csv --values2 2 -o l.raw
  [ "$(od -An -v -t d1 -w17 l.raw | awk '{ print $1, $9, $17 }')" = $'5 0 0\n6 0 1\n7 70 1\n6 0 1' ]
  table lookup a.csv b.csv --values2 2 -o l.npy
  tail -c 68 l.npy | cmp - l.raw
  grep -aq "('found', '|u1')" l.npy
  grep -aq "'shape': (4,)" l.npy
  table lookup - b.csv <a.csv -q -o l2.npy
  grep -aq "'shape': (4,)" l2.npy
  expect 1 table join a.csv b.csv --output-format npy
  one_error "not known before the end"
  table join a.csv b.csv -o j.npy
  grep -aq "'shape': (5,)" j.npy
}

@test "keys of different types are compared as numbers" {
  printf '%s\n' -1 5 4294967295 -5 >a.csv
  dzo generate keys --count 0 -o none.raw
  printf '\377\377\377\377\005\000\000\000' >b.raw                                 # 4294967295, 5; or -1, 5
  printf '\377\377\377\377\377\377\377\377\005\000\000\000\000\000\000\000' >c.raw # 2^64 - 1, 5; or -1, 5
  printf '%s\n' key,row2 -1, 5,1 4294967295,0 -5, >wanted
  gives wanted lookup a.csv b.raw --type i64 --type2 u32 --verify
  printf '%s\n' key,row2 -1,0 5,1 4294967295, -5, >wanted
  gives wanted lookup a.csv b.raw --type i64 --type2 i32 --verify
  gives wanted lookup a.csv c.raw --type i64 --type2 i64 --verify
  printf '%s\n' key,row2 -1, 5,1 4294967295, -5, >wanted
  gives wanted lookup a.csv c.raw --type i64 --type2 u64 --verify
  printf '%s\n' key,row,row2 5,1,1 >wanted
  gives wanted join a.csv c.raw --type i64 --type2 u64 --verify
  printf '%s\n' key,row2 18446744073709551615, 5,1 >wanted
  gives wanted lookup c.raw a.csv --type u64 --type2 i64 --verify
  printf '%s\n' key,row2 -1, 5, 4294967295, -5, >wanted
  gives wanted lookup a.csv none.raw --type i64 --type2 u32 --format2 raw --verify
}

# ---- real files ------------------------------------------------------------------------------

@test "the roads of a province: degrees, and arcs that meet their reverse" {
  zcat "$ROADS" | awk '/^a/ { print $2, $3, $4 }' >arcs.txt
  cut -d' ' -f1 arcs.txt | reference_counts >wanted
  gives wanted count arcs.txt --verify
  (echo key,sum && awk '{ s[$1] += $3 } END { for (v in s) print v "," s[v] }' arcs.txt | sort -t, -n) >wanted
  gives wanted count arcs.txt --values 3 --aggregate sum --type u32
  head -n 3000 arcs.txt >some.txt
  (echo key,value,value2 && awk -v has1=1 -v has2=1 "$join_by_awk" arcs.txt some.txt) >wanted
  gives wanted join some.txt arcs.txt --values 2 --values2 2 --verify
  expect 0 table distinct arcs.txt --column 2
  [ "$(field distinct)" = "$(cut -d' ' -f2 arcs.txt | sort -u | wc -l)" ]
}

@test "vertices of real graphs" {
  need_data
  local seen=0
  for file in "$DZO_TEST_DATA"/mst/*.mtx; do
    [ "$(stat -c %s "$file")" -lt 500000 ] || continue
    grep -v '^%' "$file" | tail -n +2 | awk 'NF >= 2 && $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/' >edges.txt
    [ -s edges.txt ] || continue
    for column in 1 2; do
      awk -v c=$column '{ print $c }' edges.txt | reference_counts >wanted
      gives wanted count edges.txt --column $column
    done
    seen=$((seen + 1))
    [ $seen -lt 20 ] || break
  done
  [ $seen -gt 0 ]
}

# ---- generated keys --------------------------------------------------------------------------

@test "generated keys: unique ones are, and the same bytes always" {
  dzo generate keys --count 200000 -o a.raw --threads 1
  dzo generate keys --count 200000 -o b.raw --threads 3 --verify
  cmp a.raw b.raw
  expect 0 table distinct a.raw --type u32
  [ "$(field distinct)" = 200000 ]
  dzo generate keys --count 200000 --range 200000 -q | tail -n +2 | sort -n >given
  seq 0 199999 | cmp - given
  [ "$(md5sum <a.raw)" = "$(dzo generate keys --count 200000 --format raw -q | md5sum)" ]
  [ "$(dzo generate keys --count 3 -q | xargs)" = "key 419274885 957821420 2578411888" ]
  [ "$(keys --count 1000 --distribution uniform --distinct 5 --type u64 | sort -u | wc -l)" = 5 ]
  keys --count 20000 --distribution zipf --distinct 50 >k.txt
  expect 0 table distinct k.txt
  [ "$(field distinct)" = 50 ]
  for file in k.npy k.csv k.raw k.u64; do
    expect 0 dzo generate keys --count 5000 --type u64 --distribution zipf -o $file --verify
    [ "$(field verified)" = "the file reads back as the same keys" ]
  done
  cmp k.raw k.u64
  expect 0 dzo generate keys --count 0 -o none.npy --verify
}

# ---- what goes wrong -------------------------------------------------------------------------

@test "memory that is not there is an error" {
  dzo generate keys --count 400000 --type u64 -o k.raw
  expect 1 table count k.raw --type u64 --memory 2M -o c.csv
  one_error "out of memory: "
  grep -q 'different keys take .*; give more by --memory, or cut the input by ranges of keys$' err
  [ ! -e c.csv ]
  expect 1 table lookup k.raw k.raw --type u64 --memory 2M -o c.csv
  one_error "out of memory: FILE2: "
  grep -q 'put the smaller file second' err
}

@test "a full disk, and a folder that is not there" {
  seq 200000 >k.txt
  for words in "count k.txt" "distinct k.txt" "join k.txt k.txt" "lookup k.txt k.txt"; do
    # shellcheck disable=SC2086
    expect 1 table $words -o nowhere/x
    one_error "nowhere/x"
    if [ -w /dev/full ]; then
      # shellcheck disable=SC2086
      expect 1 table $words -o /dev/full
      one_error "No space left on device"
    fi
    echo old >x.csv
    status=0
    (
      ulimit -f 64
      trap '' XFSZ
      # shellcheck disable=SC2086
      table $words -o x.csv
    ) >out 2>err || status=$?
    [ "$status" -eq 1 ]
    one_error "x.csv: "
    [ "$(cat x.csv)" = old ]
    no_leftovers k.txt x.csv
  done
  if [ -w /dev/full ]; then
    status=0
    table count k.txt >/dev/full 2>err || status=$?
    [ "$status" -eq 1 ]
    grep -q "No space left on device" err
  fi
}

@test "a closed pipe ends it silently with 141" {
  seq 300000 >k.txt
  for words in "count k.txt" "join k.txt k.txt" "lookup k.txt k.txt"; do
    # shellcheck disable=SC2086
    {
      code=0
      table $words -q 2>err || code=$?
      echo $code >code
    } | head -n 1 >/dev/null
    [ "$(cat code)" -eq 141 ]
    [ ! -s err ]
  done
}

@test "bad input halfway leaves no output" {
  (seq 300000 && echo word) >k.txt
  for words in "count k.txt" "join k.txt k.txt" "lookup k.txt k.txt"; do
    # shellcheck disable=SC2086
    expect 3 table $words -o x.csv
    one_error "k.txt:300001: "
    no_leftovers k.txt
  done
}
