#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# generate, convert and verify.
load helper

@test "generate: a report, or the graph on standard output" {
  expect 0 dzo generate grid --scale 6 --keep 1 -o g.mtx
  [ "$(field vertices)" = 64 ]
  [ "$(field edges)" = 112 ]
  [ "$(field graph)" = "g.mtx (mtx)" ]
  [ ! -s err ]
  expect 0 dzo generate grid --scale 6 --keep 1 --quiet
  cmp g.mtx out
  [ ! -s err ]
  expect 0 dzo generate grid --scale 6 --keep 1 -o -
  cmp g.mtx out
  [ "$(field edges err)" = 112 ]
}

@test "generate --json" {
  need_python
  expect 0 dzo generate ssca2 --scale 8 --json --verify -o g --format graphhpc --seed 5
  [ "$(json 'd["graph"]["vertices"], d["graph"]["format"], d["generator"], d["scale"], d["seed"], d["verified"]')" \
    = "(256, 'graphhpc', 'ssca2', 8, 5, True)" ]
  [ "$(json 'd["graph"]["bytes"]')" = "$(stat -c %s g)" ]
  [ "$(json 'sorted(d["seconds"])')" = "['generate', 'total', 'verify', 'write']" ]
}

@test "generate: the same bytes for any number of threads, others for another seed" {
  for kind in rmat ssca2 uniform grid; do
    expect 0 dzo generate $kind --scale 10 -o one.mtx --threads 1
    for threads in 2 3 8; do
      expect 0 dzo generate $kind --scale 10 -o other.mtx --threads $threads
      cmp one.mtx other.mtx
    done
    expect 0 dzo generate $kind --scale 10 -o other.mtx --seed 1
    ! cmp -s one.mtx other.mtx
  done
}

@test "generate: weights of every type, and every option of a kind" {
  for weights in f64 f32 u32 none; do
    expect 0 dzo generate rmat --scale 6 --weights $weights -o g.mtx --verify
    [ "$(field weights)" = $weights ]
  done
  head -n 1 g.mtx | grep -q pattern
  expect 0 dzo generate uniform --scale 6 --degree 4 -o g.mtx
  [ "$(field edges)" = 128 ]
  expect 0 dzo generate ssca2 --scale 6 --max-clique 2 --inter-clique 0 -o g.mtx
  [ "$(field edges)" -le 32 ]
}

@test "generate reproduces the contest's samples" {
  need_data
  expect 0 dzo generate rmat --scale 10 --format graphhpc -o rmat-10
  cmp rmat-10 "$DZO_TEST_DATA/mst/graphhpc2015/rmat-10"
  expect 0 dzo generate ssca2 --scale 10 --max-clique 10 --inter-clique 0.05 --format graphhpc -o ssca2-10
  cmp ssca2-10 "$DZO_TEST_DATA/mst/graphhpc2015/ssca2-10"
}

@test "convert: every format there and back keeps the graph" {
  dzo generate grid --scale 6 --weights u32 -q -o g.mtx
  expect 0 dzo msf g.mtx
  weight=$(field weight)
  for format in mtx dimacs snap csv konect metis graphhpc egr gap galois dzo; do
    expect 0 dzo convert g.mtx x.$format --output-format $format --verify
    field output | grep -qF "($format, "
    expect 0 dzo msf x.$format
    [ "$(field weight)" = "$weight" ]
    expect 0 dzo convert x.$format back.mtx
    expect 0 dzo msf back.mtx
    [ "$(field weight)" = "$weight" ]
  done
}

@test "convert --json with the ratio of compression" {
  need_python
  dzo generate ssca2 --scale 12 -q -o g.mtx
  expect 0 dzo convert g.mtx g.dzo --json --compress --renumber --sort-by-weight --verify
  [ "$(json 'd["input"]["format"], d["output"]["format"], d["verified"]')" = "('mtx', 'dzo', True)" ]
  [ "$(json 'd["output"]["bytes"]')" = "$(stat -c %s g.dzo)" ]
  [ "$(json 'd["neighbours"]["ratio"] > 1')" = True ]
  expect 0 dzo convert g.mtx g.dzo --compress
  field neighbours | grep -q ratio
  [ ! -s err ]
  expect 0 dzo convert g.mtx g.el --compress
  grep -q 'only the dzo format keeps' err
}

@test "convert: a prepared graph has the same forest" {
  dzo generate rmat --scale 10 -q -o g.mtx
  expect 0 dzo msf g.mtx -o one
  for words in "--sort-by-weight" "--compress" "--sort-by-weight --compress" "--renumber" ""; do
    # shellcheck disable=SC2086
    expect 0 dzo convert g.mtx g.dzo $words
    expect 0 dzo msf g.dzo -o other --verify
    cut -d ' ' -f 1,4 one >a
    cut -d ' ' -f 1,4 other >b
    cmp a b
  done
}

@test "convert: from standard input to standard output" {
  small_graph >g.gr
  dzo convert - - --output-format snap -q <g.gr >out
  dzo msf out >report
  [ "$(field weight report)" = 10 ]
}

@test "verify accepts a forest in any order and form" {
  small_graph >g.gr
  dzo msf g.gr -q -o f >/dev/null
  expect 0 dzo verify msf g.gr f
  grep -q '^valid: a minimum spanning forest of g.gr, 3 edges$' out
  cut -d ' ' -f 2,3 f | tac >pairs
  expect 0 dzo verify msf g.gr pairs
  cut -d ' ' -f 2-4 f >weighted
  expect 0 dzo verify msf g.gr weighted
  cut -d ' ' -f 1 f >numbers
  expect 0 dzo verify msf g.gr numbers
  dzo verify msf g.gr - <f >out
  grep -q '^valid' out
  dzo verify msf - f <g.gr >out
  grep -q '^valid' out
}

@test "verify rejects damage with status 1 and says why" {
  small_graph >g.gr
  dzo msf g.gr -q -o f >/dev/null
  head -n 2 f >missing
  { cat f; head -n 1 f; } >twice
  { cat f; echo 1 2 3 5; } >cycle
  { sed -n 1p f; echo 1 2 3 5; sed -n 3p f; } >heavy
  for forest in missing twice cycle heavy; do
    expect 1 dzo verify msf g.gr $forest
    grep -q '^wrong: ' out
    [ "$(wc -l <out)" -eq 1 ]
  done
  expect 1 dzo verify msf --maximum g.gr f
  dzo msf --maximum g.gr -q -o m >/dev/null
  expect 0 dzo verify msf --maximum g.gr m
  grep -q '^valid: a maximum' out
  expect 1 dzo verify msf g.gr m
}

@test "verify: a forest that is no forest of this graph is status 3" {
  small_graph >g.gr
  printf '%s\n' '0 1 2 1' 'word' >f
  expect 3 dzo verify msf g.gr f
  one_error "f:2: "
  expect 3 dzo verify msf g.gr missing
  one_error "missing"
}

@test "verify --json" {
  need_python
  small_graph >g.gr
  dzo msf g.gr -q -o f >/dev/null
  expect 0 dzo verify msf g.gr f --json
  [ "$(json 'd["valid"], d["reason"], d["graph"]["edges"], d["forest"]["edges"]')" = "(True, None, 6, 3)" ]
  head -n 2 f >g
  expect 1 dzo verify msf g.gr g --json
  [ "$(json 'd["valid"], len(d["reason"]) > 0')" = "(False, True)" ]
}

@test "verify takes the contest's own forests" {
  need_data
  for name in rmat-10 ssca2-10 ssca2-5; do
    [ -e "$DZO_TEST_DATA/mst/graphhpc2015/$name.mst" ] || continue
    expect 0 dzo verify msf "$DZO_TEST_DATA/mst/graphhpc2015/$name" "$DZO_TEST_DATA/mst/graphhpc2015/$name.mst"
  done
}
