#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

@test "bench msf measures every kind of graph and verifies each row" {
  expect 0 dzo bench msf --device cpu --scale 9 --repeats 2
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
  expect 0 dzo bench msf --device cpu --scale 10 --graph rmat --repeats 3 --threads 2 --json
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
  expect 0 dzo bench msf --device cpu --scale 8 --graph grid --yardstick none --repeats 1
  grep -Eq '^grid\.8 .* - +- ' out
  need_python
  expect 0 dzo bench msf --device cpu --scale 8 --graph grid --yardstick none --repeats 1 --json
  [ "$(json '"ratio" in d["results"][0]')" = False ]
}

@test "bench msf --plot writes data and a script" {
  expect 0 dzo bench msf --device cpu --scale 8 --graph ssca2 --repeats 1 --plot "it's here"
  [ "$(grep -c '^"ssca2' "it's here/msf.dat")" -eq 2 ]
  [ -s "it's here/msf.gp" ]
  if command -v gnuplot >/dev/null; then
    [ -s "it's here/msf.png" ]
  fi
  touch file
  expect 1 dzo bench msf --device cpu --scale 8 --graph grid --repeats 1 --plot file/below
  grep -q '^dzo: bench: file/below: ' err
}

# ---- With a GPU: a real one, or that of tests/simt ----

need_gpu() { dzo info | grep -q '^device *cuda:0 ' || skip "there is no GPU"; }

@test "bench msf on the GPU measures every kind of graph and verifies each row" {
  need_gpu
  expect 0 dzo bench msf --device cuda --quick --scale 8 --repeats 2
  [ ! -s err ]
  for graph in rmat ssca2 uniform grid; do
    grep -Eq "^$graph\.8 +256 +[0-9]+ +[0-9.]+ +\([0-9.]+\) " out
  done
  for graph in 'rmat\.8 sorted' 'rmat\.8 f64' 'ssca2\.8 renumbered' 'ssca2\.8 compressed'; do
    grep -q "^$graph " out
  done
  grep -q 'Every row was verified' out
  ! grep -q 'not verified' out
}

@test "bench msf on the GPU --json tells what was found and what it cost" {
  need_gpu
  need_python
  expect 0 dzo bench msf --device cuda --scale 9 --graph ssca2 --repeats 3 --json
  [ "$(wc -l <out)" -eq 1 ]
  [ "$(json 'd["benchmark"], d["device"], d["from"], len(d["results"])')" = "('msf', 'cuda', 'gpu', 4)" ]
  [ "$(json 'all(r["verified"] and r["verifier"] == "cpu and gpu" for r in d["results"])')" = True ]
  [ "$(json 'len({(r["forest_edges"], r["components"]) for r in d["results"]})')" = 1 ]
  [ "$(json 'all(0 < r["seconds"]["solve_min"] <= r["seconds"]["solve"] for r in d["results"])')" = True ]
  [ "$(json '[r["compressed"] for r in d["results"]]')" = "[False, False, False, True]" ]
  [ "$(json 'd["results"][3]["neighbour_bytes"] < d["results"][2]["neighbour_bytes"]')" = True ]
}

@test "bench msf from host memory measures each device and every kind of memory" {
  need_gpu
  need_python
  expect 0 dzo bench msf --device hybrid --scale 8 --repeats 1 --graph rmat --json
  [ "$(json 'd["from"], len(d["results"])')" = "('host', 10)" ]
  [ "$(json 'all(r["verified"] for r in d["results"])')" = True ]
  [ "$(json 'sorted({r["device"] for r in d["results"]})')" = "['cpu', 'cuda', 'hybrid']" ]
  [ "$(json 'sorted({r["memory"] for r in d["results"]})')" = "['pageable', 'pinned']" ]
  [ "$(json 'sum(r["gpu_memory"] > 0 for r in d["results"])')" = 4 ]
  expect 0 dzo bench msf --device cuda --from host --scale 8 --repeats 1
  grep -Eq '^rmat\.8 +pinned +all +seed ' out
  ! grep -Eq ' (cpu|hybrid) +[0-9]' out
}

@test "bench msf --table tells every device's rate at every scale, and draws it" {
  need_gpu
  need_python
  expect 0 dzo bench msf --device cuda --table --scale 8 --json --plot "it's here"
  [ "$(json 'd["table"], len(d["results"])')" = "('mteps', 2)" ]
  [ "$(json 'all(r["verified"] for r in d["results"])')" = True ]
  [ "$(json 'sorted(d["results"][0]["mteps"])')" = "['cpu', 'cuda', 'gpu', 'hybrid']" ]
  [ "$(grep -c '^8 ' "it's here/msf-table.dat")" -eq 2 ]
  if command -v gnuplot >/dev/null; then
    [ -s "it's here/msf-table.png" ]
    [ -s "it's here/msf-table.svg" ]
  fi
}

@test "bench msf refuses what is for another device" {
  expect 2 dzo bench msf --device cpu --table
  one_error '--table is for the GPU'
  need_gpu
  expect 2 dzo bench msf --device cuda --yardstick none
  one_error '--yardstick is for the CPU'
}

# ---- Tables ----

@test "bench table measures and verifies every part" {
  expect 0 dzo bench table --device cpu --count 3000 --repeats 1
  [ ! -s err ]
  for row in "operations +insert +unique +32 +3000 +0\.950" "operations +refill +unique +64 " \
    "mixed +80/10/10 " "growth +double " "sweep +insert +unique +32 +[0-9]+ +0\.938" \
    "aggregate +add +1 K even " "aggregate +add +16 M zipf 1\.2 "; do
    grep -Eq "^$row" out
  done
  ! grep -q 'not verified' out
}

@test "bench table of next to no keys" {
  for count in 1 9; do
    expect 0 dzo bench table --device cpu --count "$count" --repeats 1
    [ ! -s err ]
  done
}

@test "bench table --json and --plot" {
  need_python
  expect 0 dzo bench table --device cpu --count 2000 --repeats 2 --part sweep --json --plot plots
  [ "$(json 'd["benchmark"], len(d["results"])')" = "('table', 31)" ]
  [ "$(json 'all(r["verified"] and r["rate"]["ordered"] > 0 for r in d["results"])')" = True ]
  [ "$(grep -vc '^#' plots/table.dat)" -eq 31 ]
  [ -s plots/table.gp ]
}

@test "bench table refuses what only bench msf has, and the other way round" {
  expect 2 dzo bench table --device cpu --scale 5
  grep -q -e '--scale is for dzo bench msf' err
  expect 2 dzo bench msf --device cpu --part sweep
  grep -q -e '--part is for dzo bench table' err
}

@test "bench table on the GPU verifies every part" {
  need_gpu
  expect 2 dzo bench table --device hybrid
  expect 0 dzo bench table --device cuda --count 600 --repeats 1
  [ ! -s err ]
  grep -Eq '^transfer +end to end ' out
  ! grep -q 'not verified' out
}

# ---- Knapsacks ----

@test "bench knapsack measures and verifies every part" {
  expect 0 dzo bench knapsack --device cpu --quick --repeats 1
  [ ! -s err ]
  for row in "finkelstein +15 +1e\\+03 +[0-9.]+ " "finkelstein +17 +10 " \
    "circle +50 +1e\\+03 +[0-9.]+ " "uncorrelated +100 +390 +[0-9]+ "; do
    grep -Eq "^$row" out
  done
  ! grep -q 'not verified' out
}

@test "bench knapsack --json and --plot" {
  need_python
  expect 0 dzo bench knapsack --device cpu --quick --repeats 1 --part growth --json --plot "it's here"
  [ "$(wc -l <out)" -eq 1 ]
  [ "$(json 'd["benchmark"], len(d["results"])')" = "('knapsack', 4)" ]
  [ "$(json 'all(r["verified"] and r["agree"] >= 5 for r in d["results"])')" = True ]
  [ "$(json '[r["value"] for r in d["results"]]')" = "[10, 12, 14, 16]" ]
  [ "$(json 'all(0 < r["seconds_min"]["h-s"] <= r["seconds"]["h-s"] for r in d["results"])')" = True ]
  [ "$(grep -c '^1[0-9] ' "it's here/knapsack.dat")" -eq 4 ]
  [ -s "it's here/knapsack.gp" ]
  if command -v gnuplot >/dev/null; then
    [ -s "it's here/knapsack.png" ]
  fi
}

@test "bench knapsack measures files" {
  need_python
  printf '3 10\n60 5\n50 4\n70 6\n' >three.txt
  printf '2 3\n1 2\n1 2\n' >two.txt
  expect 0 dzo bench knapsack --device cpu --repeats 1 three.txt two.txt --json
  [ "$(json '[(r["name"], r["items"], r["value"]) for r in d["results"]]')" = \
    "[('three.txt', 3, 120), ('two.txt', 2, 1)]" ]
  expect 3 dzo bench knapsack --device cpu nothing.txt
  expect 2 dzo bench msf three.txt
  one_error 'files are for dzo bench knapsack'
  expect 2 dzo bench knapsack --part sweep
  one_error 'has no part sweep'
  expect 2 dzo bench table --part thesis
  one_error 'has no part thesis'
}

@test "bench knapsack on the GPU measures its methods and the thesis' own" {
  need_gpu
  need_python
  expect 0 dzo bench knapsack --device cuda --quick --repeats 1 --part thesis --json
  [ "$(json 'len(d["results"]), all(r["verified"] for r in d["results"])')" = "(4, True)" ]
  for method in brute-gpu hybrid-gpu seed-brute seed-hybr; do
    [ "$(json "all('$method' in r['seconds'] for r in d['results'])")" = True ]
  done
  expect 0 dzo bench knapsack --device cuda --quick --repeats 1 --part sums
  ! grep -q 'not verified' out
}
