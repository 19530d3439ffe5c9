#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# With a GPU: a real one, or that of tests/simt, which a variable can make fail.
load helper

need_gpu() { dzo info | grep -q '^device *cuda:0 ' || skip "there is no GPU"; }
need_shim() { dzo info | grep -q 'SIMT shim' || skip "needs a GPU that fails when it is told to"; }

DEVICES="cuda cuda:0 hybrid"

# Ties, loops, parallel and negative edges, isolated vertices.
tied_graph() {
  echo "p sp 300 2500"
  awk 'BEGIN { srand(7); for (i = 0; i < 2500; i++)
    print "a", 1 + int(rand() * 250), 1 + int(rand() * 250), int(rand() * 9) - 4 }'
}

@test "a GPU gives the CPU's bytes" {
  need_gpu
  tied_graph >tied.gr
  dzo generate rmat --scale 9 -o rmat.dzo -q
  dzo convert rmat.dzo packed.dzo --sort-by-weight --compress -q
  for graph in tied.gr rmat.dzo packed.dzo "$ROADS"; do
    for words in "" "--maximum" "--stream" "--gpu-memory 1M"; do
      # shellcheck disable=SC2086
      expect 0 dzo msf "$graph" $words --device cpu -o cpu.txt --components cpu.npy
      for device in $DEVICES; do
        # shellcheck disable=SC2086
        expect 0 dzo msf "$graph" $words --device $device -o gpu.txt --components gpu.npy
        [ ! -s err ]
        cmp cpu.txt gpu.txt
        cmp cpu.npy gpu.npy
      done
    done
  done
}

@test "every format of a forest is the same from a GPU" {
  need_gpu
  tied_graph >tied.gr
  for format in edges graphhpc mtx npy; do
    expect 0 dzo msf tied.gr --device cpu -o cpu --output-format $format
    for device in $DEVICES; do
      expect 0 dzo msf tied.gr --device $device -o gpu --output-format $format
      cmp cpu gpu
    done
  done
}

@test "the report names the device that did it, and --verify agrees" {
  need_gpu
  need_python
  expect 0 dzo msf "$ROADS" --device cuda --verify
  field device | grep -qE '^cuda, [0-9]+ threads?'
  grep -q '^verified' out
  expect 0 dzo msf "$ROADS" --device cuda --json --verify
  [ "$(json 'd["device"], d["verified"], d["memory"]["gpu"] > 0')" = "('cuda', True, True)" ]
  [ "$(json 'd["forest"]["weight"]')" = 88612409 ]
  expect 0 dzo msf "$ROADS" --device hybrid --json
  json 'd["device"]' | grep -qE '^(cpu|cuda|hybrid)$'
  expect 0 dzo msf "$ROADS" --device cpu --json
  [ "$(json 'd["device"], d["memory"]["gpu"]')" = "('cpu', 0)" ]
  expect 0 dzo msf "$ROADS" --device auto --verify
  [ ! -s err ]
}

@test "a GPU number that is not there is status 4 with the reason" {
  need_gpu
  for words in "msf $ROADS" info; do
    # shellcheck disable=SC2086
    expect 4 dzo $words --device cuda:1000
    one_error "no GPU number 1000"
  done
}

@test "no GPU memory to speak of: the CPU does it, and one line says so" {
  need_gpu
  small_graph >g.gr
  expect 0 dzo msf g.gr --device cuda --gpu-memory 1 -o forest.txt
  grep -q '^device  *cpu' out
  [ "$(wc -l <err)" -eq 1 ]
  grep -q '^dzo: .*solved on the CPU' err
  expect 0 dzo msf g.gr --device cpu -o cpu.txt
  cmp cpu.txt forest.txt
  expect 0 dzo msf g.gr --device cuda --gpu-memory 1 -q
  [ ! -s err ]
}

@test "a GPU that fails in the middle: the same forest, and one line" {
  need_shim
  tied_graph >tied.gr
  expect 0 dzo msf tied.gr --device cpu -o cpu.txt
  for words in "--device cuda" "--device hybrid" "--device cuda --stream" \
    "--device cuda --gpu-memory 1M"; do
    failures=0
    for at in 1 2 3 5 8 13 21 34 55; do
      # shellcheck disable=SC2086
      SIMT_FAIL_AT=$at expect 0 dzo msf tied.gr $words --verify -o gpu.txt
      cmp cpu.txt gpu.txt
      [ "$(wc -l <err)" -le 1 ]
      ! grep -v '^dzo: GPU 0 ' err
      failures=$((failures + $(wc -l <err)))
    done
    # A hybrid may leave so small a graph to the CPU.
    [ "$failures" -gt 0 ] || [ "$words" = "--device hybrid" ]
    SIMT_FAIL_AT=3 expect 0 dzo msf tied.gr --device cuda -q
    [ ! -s err ]
  done
}

@test "a table begins anew on the CPU where the GPU, chosen by itself, fails" {
  need_shim
  truncate -s 16M zeros.u32
  printf '%s\n' key,count 0,4194304 >wanted
  for at in 12 28; do
    SIMT_FAIL_AT=$at expect 0 dzo table count zeros.u32 -o given.csv --threads 1
    cmp wanted given.csv
    grep -q '^dzo: .*; all is done again on the CPU$' err
  done
  printf '%s\n' key,row2 0,0 0,0 >wanted
  truncate -s 8 few.u32
  SIMT_FAIL_AT=12 expect 0 dzo table lookup few.u32 zeros.u32 --threads 1
  cmp wanted out
  SIMT_FAIL_AT=12 expect 1 dzo table count zeros.u32 -o given.csv --device cuda
  one_error "the contents of the table are lost"
}

@test "wrong devices and wrong amounts of GPU memory are wrong usage" {
  small_graph >g.gr
  for device in gpu cuda: cuda:x cuda:1x cuda:-1 cuda:99999999999 CUDA hybrid:1 ""; do
    expect 2 dzo msf g.gr --device "$device"
    one_error "--device: '$device' is none of auto, cpu, cuda, cuda:N, hybrid"
  done
  for bytes in 0 -1 1X 99999999999999999999 ""; do
    expect 2 dzo msf g.gr --gpu-memory "$bytes"
    one_error "--gpu-memory: '$bytes' is not a number of bytes"
  done
}

@test "a GPU generates the CPU's bytes" {
  need_gpu
  for words in "rmat --scale 10" "ssca2 --scale 9 --weights f32" "uniform --scale 8 --weights u32" \
    "grid --scale 9 --weights none"; do
    # shellcheck disable=SC2086
    expect 0 dzo generate $words --device cpu -o cpu.mtx -q
    # shellcheck disable=SC2086
    expect 0 dzo generate $words --device cuda -o gpu.mtx --json
    grep -q '"device": "cuda"' out
    cmp cpu.mtx gpu.mtx
  done
  expect 0 dzo generate rmat --scale 10 --device cuda --gpu-memory 1K -o gpu.mtx
  grep -q '^dzo: .*; generated on the CPU$' err
  expect 0 dzo generate rmat --scale 10 --device cpu -o cpu.mtx -q
  cmp cpu.mtx gpu.mtx
}

@test "a GPU's tables give the CPU's records" {
  need_gpu
  dzo generate keys --count 4000 --distribution zipf --distinct 900 -o k.u32 -q
  dzo generate keys --count 4000 --range 1000000 -o v.u32 -q
  dzo generate keys --count 700 --distribution zipf --distinct 1200 --seed 2 -o k2.u32 -q
  dzo generate keys --count 900 --type u64 --distribution zipf --distinct 300 -o w.u64 -q
  for words in "count k.u32" "count k.u32 --top 5" "count k.u32 --values v.u32 --aggregate sum" \
    "count k.u32 --values v.u32 --aggregate max" "count w.u64" "distinct w.u64" \
    "join k2.u32 k.u32 --values2 v.u32" "lookup k.u32 k2.u32" "lookup w.u64 k2.u32"; do
    # shellcheck disable=SC2086
    expect 0 dzo table $words --device cpu -o cpu.csv
    for device in cuda hybrid; do
      # shellcheck disable=SC2086
      expect 0 dzo table $words --device $device -o gpu.csv --verify
      [ ! -s err ]
      cmp cpu.csv gpu.csv
      [ "$(field device | cut -d, -f1)" = $device ]
    done
  done
}
