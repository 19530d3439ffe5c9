#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

@test "bench msf measures every kind of graph and verifies each row" {
  expect 0 dzo bench msf --scale 9 --repeats 2
  [ ! -s err ]
  for graph in rmat ssca2 uniform grid; do
    grep -Eq "^$graph\.9 +512 +[0-9]+ +[0-9.]+ +\([0-9.]+\) +[0-9.]+ +[0-9.]+ .* [0-9.]+x$" out
  done
  grep -q '^rmat\.9 sorted ' out
  grep -q '^ssca2\.9 sorted ' out
  grep -q 'contest counted arcs' out
  ! grep -q 'not verified' out
}

@test "bench msf --json tells what was found and what it cost" {
  need_python
  expect 0 dzo bench msf --scale 10 --graph rmat --repeats 3 --threads 2 --json
  [ "$(wc -l <out)" -eq 1 ]
  [ "$(json 'd["benchmark"], d["threads"], len(d["results"])')" = "('msf', 2, 2)" ]
  [ "$(json 'all(r["verified"] for r in d["results"])')" = True ]
  [ "$(json 'len({r["weight"] for r in d["results"]})')" = 1 ]
  [ "$(json '[r["rows"] for r in d["results"]]')" = "['by neighbour', 'by weight']" ]
  [ "$(json 'all(r["edges"] == 16384 and r["vertices"] == 1024 for r in d["results"])')" = True ]
  [ "$(json 'all(0 < r["seconds"]["solve_min"] <= r["seconds"]["solve"] for r in d["results"])')" = True ]
  [ "$(json 'all(r["peak_bytes"] > r["graph_bytes"] > 0 for r in d["results"])')" = True ]
}

@test "bench msf runs without the yardstick" {
  expect 0 dzo bench msf --scale 8 --graph grid --yardstick none --repeats 1
  grep -Eq '^grid\.8 .* - +- ' out
  need_python
  expect 0 dzo bench msf --scale 8 --graph grid --yardstick none --repeats 1 --json
  [ "$(json '"ratio" in d["results"][0]')" = False ]
}

@test "bench msf --plot writes data and a script" {
  expect 0 dzo bench msf --scale 8 --graph ssca2 --repeats 1 --plot "it's here"
  [ "$(grep -c '^"ssca2' "it's here/msf.dat")" -eq 2 ]
  [ -s "it's here/msf.gp" ]
  if command -v gnuplot >/dev/null; then
    [ -s "it's here/msf.png" ]
  fi
  touch file
  expect 1 dzo bench msf --scale 8 --graph grid --repeats 1 --plot file/below
  grep -q '^dzo: bench: file/below: ' err
}
