#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load table_helper

# dzo table: what it reads.

@test "CSV: names, numbers, separators, quotes, comments, line ends" {
  printf '%s\n' key,count -3,1 7,2 >wanted
  printf 'id,name,n\n7,x,1\n-3,"a, b",2\n7,"""",3\n' >a.csv
  printf '\357\273\277"id";n\r\n7;1\r\n\r\n# no\r\n"-3";2\r\n 7 ;3' >b.csv
  printf 'n\tid\n1\t7\n2\t-3\n3\t7\n' >c.csv
  printf '  7 1\n-3   2\n+7 3\n' >d.csv
  printf '# id\n7\n-3\n\n7\n' >e.csv
  for words in "a.csv" "a.csv --column id" "a.csv --column 1" "b.csv" "b.csv --column id" \
    "c.csv --column id" "c.csv --column 2" "d.csv" "d.csv --column 1" "e.csv"; do
    # shellcheck disable=SC2086
    gives wanted count $words
    # shellcheck disable=SC2086
    gives wanted count $words --type i32 --verify
  done
  printf '%s\n' key,sum -3,2 7,4 >wanted
  for words in "a.csv --values n" "a.csv --values 3" "b.csv --column id --values n" \
    "c.csv --column id --values n" "d.csv --values 2"; do
    # shellcheck disable=SC2086
    gives wanted count $words --aggregate sum --verify
  done
  # A first line of numbers is data, even where the name of a column might be one.
  printf '%s\n' 2020,1 2020,2 >f.csv
  printf '%s\n' key,count 2020,2 >wanted
  gives wanted count f.csv
}

@test "a name that ends in .u32 is raw, though its bytes are text" {
  printf 11111111 >a.u32
  printf 'key,count\n825307441,2\n' >wanted
  gives wanted count a.u32
  printf '825307441\n5\n' >b.csv
  printf 'key,row2\n825307441,0\n5,\n' >wanted
  gives wanted lookup b.csv a.u32 --type i64
  # What is said in words counts more.
  printf 'key,count\n11111111,1\n' >wanted
  gives wanted count a.u32 --format csv
  printf 'key,count\n3544668469065756977,1\n' >wanted
  gives wanted count a.u32 --type u64
}

@test "an output is not called what it does not hold" {
  printf '7\n-3\n7\n' >a.csv
  expect 1 table distinct a.csv -o x.u32
  one_error 'x.u32: the keys are i64'
  expect 1 table count a.csv -o x.i64
  one_error 'x.i64: the name is one for a single column'
  [ ! -e x.u32 ] && [ ! -e x.i64 ]
  table distinct a.csv --type i32 -o x.i32 -q >out
  printf 'key,count\n-3,1\n7,1\n' >wanted
  gives wanted count x.i32
  table count a.csv -o x.u64 --output-format raw -q >out
  [ "$(wc -c <x.u64)" -eq 32 ]
}

@test "CSV: one column, of which some or all fields are quoted" {
  printf '%s\n' key,count -3,1 7,2 >wanted
  printf '"my id"\n"7"\n"-3"\n 7\n' >a.csv
  gives wanted count a.csv
  gives wanted count a.csv --column 'my id'
  printf 'id\n7\n"-3"\n"7"\n' >b.csv
  gives wanted count b.csv --column id
  printf '"7"\r\n"-3"\r\n"7"\r\n' >c.csv
  gives wanted count c.csv
}

@test "CSV: columns behind several blanks, comments before columns that are asked for" {
  printf '%s\n' key,count -3,1 7,2 >wanted
  printf 'a  b   c\n1  2 7\n 1 2 -3\n1\t2 \t7 4\n' >a.txt
  gives wanted count a.txt --column c
  gives wanted count a.txt --column 3 --verify
  printf 'a,b\n1,7\n#1,5\n  #,6\n2,-3\n3,7\n' >b.csv
  gives wanted count b.csv --column b
  gives wanted count b.csv --column 2 --verify
  printf '%s\n' key,sum 1,16 >wanted
  printf '  1  7\n1   9\n' >c.txt
  gives wanted count c.txt --values 2 --aggregate sum
}

@test "a long file in small memory, and lines across the ends of chunks" {
  keys --count 300000 --distribution zipf --seed 4 >k.txt
  awk '{ print "some text, to be skipped", NR, $1 }' OFS=';' k.txt >k.csv
  reference_counts <k.txt >wanted
  gives wanted count k.csv --column 3 --memory 8M
  gzip -k1 k.csv
  gives wanted count k.csv.gz --column 3 --memory 8M --threads 2
  cat k.csv | table count - --column 3 --memory 8M -q | cmp wanted -
}

@test "malformed text names file, line and reason" {
  while IFS='|' read -r name line text words wanted; do
    printf '%b' "$text" >"$name"
    # shellcheck disable=SC2086
    expect 3 table count $words "$name"
    one_error "$name:$line: $wanted"
    status=0
    # shellcheck disable=SC2086
    table count $words - <"$name" >out 2>err || status=$?
    [ "$status" -eq 3 ]
    one_error "<stdin>:$line: $wanted"
  done <<'END'
a.csv|3|id\n5\nfive\n||expected an integer in column 1, found 'five'
b.csv|2|5\n1.5\n||expected an integer in column 1, found '1.5'
c.csv|2|1,2\n3,\n|--column 2|column 2 is empty
d.csv|3|1,2\n3,4\n5\n|--column 2|column 2 is missing
r.csv|1|1\r2\r3\r||a carriage return within the line
s.csv|1|id,n\r1,2\r|--column n|a carriage return within the line
t.csv|3|id\n1\n2\r3\n||a carriage return within the line
e.csv|2|1\n4294967296\n|--type u32|4294967296 in column 1 is not within 0 to 4294967295 (u32; u64 takes it)
f.csv|1|-1\n|--type u64|-1 in column 1 is not within 0 to 18446744073709551615 (u64; i64 takes it)
g.csv|2|1\n9223372036854775808\n||9223372036854775808 in column 1 is not within
h.csv|2|1\n18446744073709551616\n|--type u64|18446744073709551616 in column 1 does not fit 64 bits
i.csv|2|a,b\n1,"x\n2,y"\n||a quoted field does not end on its line
j.csv|1|a,b\n1,2\n|--column c|there is no column named 'c'
k.csv|1|a,b\n1,2\n|--column 3|there is no column 3, but 2
l.csv|4|# x\n\nid\n--1\n||expected an integer in column 1, found '--1'
m.csv|2|1,1\n2,9223372036854775808\n|--values 2 --aggregate sum|9223372036854775808 in column 2
n.csv|1|2147483648\n|--type i32|2147483648 in column 1 is not within -2147483648 to 2147483647 (i32; i64 takes it)
END
}

@test "the first bad line is named, however many threads" {
  seq 200000 >k.txt
  sed -i '150000s/.*/x/; 199000s/.*/y/; 120001s/.*/z/' k.txt
  for threads in 1 2 5; do
    expect 3 table count k.txt --threads $threads
    one_error "k.txt:120001: expected an integer in column 1, found 'z'"
  done
}

@test "raw files: a type is needed, and whole numbers" {
  printf '\001\000\000\000\002\000\000\000\003\000' >k.raw
  expect 3 table count k.raw
  one_error "k.raw: holds neither text nor a .npy array; raw numbers need a type"
  expect 3 table count k.raw --type u32
  one_error "k.raw: its 10 bytes are no whole number of u32"
  status=0
  cat k.raw k.raw | table count - --type u64 >out 2>err || status=$?
  [ "$status" -eq 3 ]
  one_error "<stdin>: "
  expect 3 table count k.raw --type u32 --column id --format raw
  one_error "k.raw: raw numbers have no column 'id'"
  dzo generate keys --count 3 -o k.u32
  dzo generate keys --count 3 -o k.u64
  [ "$(stat -c %s k.u32 k.u64 | xargs)" = "12 24" ]
  expect 2 dzo generate keys --count 3 -o k.i32
  one_error "these keys are u32"
  expect 2 dzo generate keys --count 3 -o k.u32 --type u64
  one_error "these keys are u64"
  expect 0 dzo generate keys --count 3 -o k.i32 --format raw
  table count k.u32 --type u32 -q >wanted
  gives wanted count k.u32
  table count k.u64 --type u64 -q >wanted
  gives wanted count k.u64 --verify
  printf '12\n34\n5\n' >text.raw
  printf '%s\n' key,count 5,1 12,1 34,1 >wanted
  gives wanted count text.raw --type u32
  printf '1234' >text.raw
  printf '%s\n' key,count 875770417,1 >wanted
  gives wanted count text.raw --type u32 --format raw
  printf '\377\377\376\377\000\000\000\000' >k.raw
  printf '%s\n' key,count -65537,1 0,1 >wanted
  gives wanted count k.raw --type i32 --verify
}

# npy HEADER DATA: a file of format 1.0; DATA with printf's escapes.
npy() {
  local size=$((${#1} + 1))
  printf '\223NUMPY\001\000'
  printf '%b' "\\0$(printf %o $((size % 256)))\\0$(printf %o $((size / 256)))"
  printf '%s\n' "$1"
  printf '%b' "$2"
}

@test "npy: widths, signs, byte orders, dimensions, records" {
  while IFS='|' read -r header data words wanted; do
    npy "$(tr % '|' <<<"$header")" "$data" >a.npy
    # shellcheck disable=SC2086
    printf '%s\n' key,count $wanted >want
    gzip -kf a.npy
    for file in a.npy a.npy.gz; do
      # shellcheck disable=SC2086
      gives want count $file $words --verify
    done
  done <<'END'
{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }|\0001\0000\0000\0000\0002\0000\0000\0000||1,1 2,1
{'descr': '>u4', 'fortran_order': False, 'shape': (2,), }|\0000\0000\0000\0001\0000\0000\0001\0000||1,1 256,1
{'descr': '%u1', 'fortran_order': False, 'shape': (3,), }|\0001\0377\0001||1,2 255,1
{'descr': '%i1', 'fortran_order': False, 'shape': (3,), }|\0001\0377\0001||-1,1 1,2
{'descr': '%b1', 'fortran_order': False, 'shape': (3,), }|\0001\0000\0001||0,1 1,2
{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }|\0376\0377\0001\0002||-2,1 513,1
{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }|\0377\0376\0002\0001||-2,1 513,1
{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }|\0376\0377\0377\0377||-2,1
{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }|\0376\0377\0377\0377\0377\0377\0377\0377||18446744073709551614,1
{'descr': '>i8', 'fortran_order': False, 'shape': (1,), }|\0377\0377\0377\0377\0377\0377\0377\0376||-2,1
{'descr': '<u2', 'fortran_order': False, 'shape': (2, 2), }|\0001\0000\0002\0000\0003\0000\0002\0000|--column 2|2,2
{'descr': '<u2', 'fortran_order': False, 'shape': (2, 2), }|\0001\0000\0002\0000\0003\0000\0002\0000||1,1 3,1
{"shape": (2,), "fortran_order": False, "descr": [("a", "<i2"), ("b", "%u1")]}|\0001\0000\0011\0377\0377\0011|--column b|9,2
{'descr': [('a', '<i2'), ('b', '%u1')], 'fortran_order': False, 'shape': (2,), }|\0001\0000\0011\0377\0377\0011|--column 1|-1,1 1,1
{'descr': '<u4', 'fortran_order': False, 'shape': (0,), }|||
END
}

@test "npy that is damaged or holds something else" {
  while IFS='|' read -r header data words wanted; do
    npy "$header" "$data" >a.npy
    # shellcheck disable=SC2086
    expect 3 table count a.npy $words
    one_error "a.npy: $wanted"
  done <<'END'
{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }|12345678||holds '<f8', not integers of up to 64 bits
{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }|12345678||holds '<c8', not integers
{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }|\0001\0000\0000\0000||ends at byte
{'descr': '<u4', 'fortran_order': False, 'shape': (99999999999999999999,), }|1234||has a damaged .npy header
{'descr': '<u4', 'fortran_order': False, 'shape': (9223372036854775807,), }|1234||promises too many
{'descr': '<u4', 'fortran_order': False, 'shape': (), }|1234||has 0 dimensions
{'descr': '<u4', 'fortran_order': False, 'shape': (1, 1, 1), }|1234||has at least 3 dimensions
{'descr': '<u4', 'fortran_order': True, 'shape': (1, 2), }|12341234||lies column by column
{'descr': '<u4', 'fortran_order': False, 'shape': (1, 2), }|12341234|--column 3|there is no column '3', but 2
{'descr': '<u4', 'fortran_order': False, 'shape': (1,), }|1234|--column id|there is no column 'id'
{'descr': [('a', '<i2'), ('b', '<f4')], 'fortran_order': False, 'shape': (1,), }|123456|--column b|field 'b' holds '<f4'
{'descr': [('a', '<i2'), ('b', '<f4')], 'fortran_order': False, 'shape': (1,), }|123456|--column c|there is no field 'c'
{'descr': [('a', '<i2', (2,))], 'fortran_order': False, 'shape': (1,), }|1234||its records hold more than simple fields
{'descr': '<u4', 'fortran_order': False, }|||has 0 dimensions
{'descr': '<u4' 'shape': (1,)|1234||has a damaged .npy header
END
  printf '\223NUMPY' >a.npy
  expect 3 table count a.npy
  one_error "a.npy: has a damaged .npy header"
  seq 9 >b.npy
  expect 3 table count b.npy --format npy
  one_error "b.npy: is no .npy file"
}

@test "nothing in, nothing out" {
  : >empty
  printf 'id,n\n' >header.csv
  printf 'key,count\n' >wanted
  gives wanted count empty
  gives wanted count empty --type u32 --verify
  gives wanted count empty --type u64 --format raw
  gives wanted count header.csv --column n
  gives wanted count header.csv --top 3
  printf 'key,row,row2\n' >wanted
  gives wanted join empty header.csv --verify
  seq 3 >three
  gives wanted join three empty
  gives wanted join empty three
  printf 'key,row2\n1,\n2,\n3,\n' >wanted
  gives wanted lookup three empty --verify
  table count empty -o c.npy
  grep -aq "'shape': (0,)" c.npy
  expect 0 table distinct empty
  [ "$(field distinct)" = 0 ]
  expect 3 table count empty --column id
  one_error "empty:1: there is no column named 'id'"
  expect 3 table count missing
  one_error "missing: "
  expect 3 table join three missing
  one_error "missing: "
  expect 3 table count .
  one_error ".: is a directory"
  head -c 100 "$ROADS" >cut.gz
  expect 3 table count cut.gz
  one_error "cut.gz"
}
