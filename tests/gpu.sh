#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# What only a real GPU can tell. Needs nvcc, CMake and a GPU; no network, and neither cmocka nor bats.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'END'
Usage: tests/gpu.sh [build | test | sanitize | bench | all] [msf | table | knapsack]

  build     build what the others need, which they do as well
  test      the unit tests that use a GPU, with contexts of device cuda and hybrid
  sanitize  compute-sanitizer's memcheck and racecheck on those with many inputs, made small
  bench     what dzo bench measures of each engine, shortened; DZO_BENCH holds other options for
            dzo bench msf
  all       the three of them (the default)

The second word picks one engine; without it all are looked at. One engine takes less than eight
minutes, whatever is asked for; all of them some more.

Builds in build-gpu/, or in the folder that DZO_BUILD_DIR names. DZO_CMAKE holds further options for
CMake.
END
}

build=${DZO_BUILD_DIR:-build-gpu}
failed=()
trap 'jobs -p | xargs -r kill 2>/dev/null' EXIT
trap 'exit 143' INT TERM

headline() { printf '\n==== %s\n' "$*"; }

# Runs one part; what fails is told at the end.
part() { # NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  headline "$name"
  if "$@"; then
    printf 'ok      %s (%d s)\n' "$name" $((SECONDS - start))
  else
    printf 'FAILED  %s (%d s)\n' "$name" $((SECONDS - start))
    failed+=("$name")
  fi
}

build_all() {
  local options=(-DDZO_CUDA=AUTO -DDZO_BUILD_TESTS=ON -DDZO_GPU_TESTS=ON)
  if ! pkg-config --exists cmocka 2>/dev/null; then
    options+=(-DDZO_TESTS_WITHOUT_CMOCKA=ON)
  fi
  if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    options+=(-G Ninja)
  fi
  mkdir -p "$build"
  # shellcheck disable=SC2086
  if ! { cmake -S . -B "$build" "${options[@]}" ${DZO_CMAKE:-} &&
    cmake --build "$build" --parallel --target dzo-cli dzo_gpu_tests; } >"$build/log" 2>&1; then
    tail -n 60 "$build/log"
    exit 1
  fi
}

# Does what this test or benchmark looks at belong to the engine asked for?
chosen() { # NAME
  local engine=msf
  case $1 in
    knapsack*) engine=knapsack ;;
    table* | example_table* | gpu_aggregate) engine=table ;;
  esac
  [ "$only" = all ] || [ "$only" = $engine ]
}

run_tests() {
  local name names=
  for name in $(ctest --test-dir "$build" -N -L gpu | sed -n 's/.*: gpu_//p'); do
    chosen "$name" && names+="${names:+|}gpu_$name"
  done
  # One GPU: tests one after another, so that none is starved of its memory.
  ctest --test-dir "$build" -L gpu -R "^($names)\$" --output-on-failure --no-tests=error
}

# What each kernel meets in these is made tiny. Racecheck looks at shared memory, which those at the
# end of the list do not use.
watched=(knapsack_differential knapsack_batch knapsack_dense knapsack_small knapsack_tree
  knapsack_two_list
  table_regions table_differential table_view table_direct gpu_aggregate
  gpu_ring gpu_stream gpu_solve parity primitives gpu_check gpu_check_damage seed)
# gpu_stream runs gpu_ring's kernels.
no_race=" gpu_ring gpu_check gpu_check_damage seed "
# Where pairs are moved inside a region in shared memory, threads lock buckets by bits. Racecheck knows
# barriers only and takes what such locks order for races, in the tests that crowd regions. There it
# leaves these kernels out; table_differential runs all of them but the last under it.
crowded=" table_regions table_direct table_view gpu_aggregate "
locking=kns=table_store,kns=table_rebuild,kns=table_spread,kns=table_mixed,kns=aggregate_fill

watch() { # TOOL NAME
  local log=$build/$1-$2.log start=$SECONDS verdict=FAILED without=()
  [ "$1" = racecheck ] && [[ $crowded == *" $2 "* ]] && without=(--kernel-name-exclude "$locking")
  DZO_TEST_DEVICE=cuda timeout 200 compute-sanitizer --tool "$1" "${without[@]}" --error-exitcode 99 \
    --print-limit 10 "$build/tests/unit/watched_$2" >"$log" 2>&1 && verdict=ok
  printf '%-9s %-22s %-7s %3d s  %s\n' "$1" "$2" $verdict $((SECONDS - start)) "$(tail -n 1 "$log")"
  [ $verdict = ok ] || { grep -v -e ' RUN ' -e ' OK ' "$log" | head -n 40; }
}

# Six at a time: more only wait for one another.
sanitize() {
  local tool name log=$build/sanitize.log
  : >"$log"
  for tool in racecheck memcheck; do
    for name in "${watched[@]}"; do
      chosen "$name" || continue
      [ $tool = racecheck ] && [[ $no_race == *" $name "* ]] && continue
      while [ "$(jobs -rp | wc -l)" -ge 6 ]; do
        wait -n || true
      done
      watch $tool "$name" >>"$log" 2>&1 &
    done
  done
  wait
  cat "$log"
  ! grep -q ' FAILED ' "$log"
}

bench() {
  # shellcheck disable=SC2086
  ! chosen msf || timeout 200 "$build/dzo" bench msf --device cuda ${DZO_BENCH:---graph rmat --scale 22}
  ! chosen table || timeout 100 "$build/dzo" bench table --device cuda --part operations
  chosen knapsack || return 0
  timeout 100 "$build/dzo" bench knapsack --device cuda --part thesis --time-limit 5
  timeout 100 "$build/dzo" bench knapsack --device cuda --part sums --time-limit 1
}

case ${1:-all} in
  build | test | sanitize | bench | all) ;;
  help | -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
what=${1:-all}
only=${2:-all}
case $only in
  msf | table | knapsack | all) ;;
  *) usage >&2; exit 2 ;;
esac
headline "Building in $build"
build_all
"$build/dzo" info
if [ "$what" = test ] || [ "$what" = all ]; then
  part "tests on the GPU" run_tests
fi
if [ "$what" = sanitize ] || [ "$what" = all ]; then
  part "compute-sanitizer" sanitize
fi
if [ "$what" = bench ] || [ "$what" = all ]; then
  part "bench" bench
fi
headline "In all $SECONDS s"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "everything passed"
