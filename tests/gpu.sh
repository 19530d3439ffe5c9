#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# What only a real GPU can tell. Needs nvcc, CMake and a GPU; no network, and neither cmocka nor bats.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'END'
Usage: tests/gpu.sh [build | test | sanitize | bench | all]

  build     build what the others need, which they do as well
  test      the unit tests that use a GPU, with contexts of device cuda and hybrid
  sanitize  compute-sanitizer's memcheck and racecheck on those with many graphs, made small
  bench     dzo bench msf on the GPU: R-MAT of scale 22; DZO_BENCH holds other options instead; and
            the operations of dzo bench table, and two parts of dzo bench knapsack
  all       the three of them (the default), in less than eight minutes

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

run_tests() {
  # One GPU: tests one after another, so that none is starved of its memory.
  ctest --test-dir "$build" -L gpu --output-on-failure --no-tests=error
}

# The tests in which every kernel meets every kind of graph, made tiny, all at once. Racecheck looks at
# shared memory, which the others do not use.
sanitize() {
  local pids=() runs=() bad=0 tool name i log
  for tool in memcheck racecheck; do
    for name in parity gpu_solve gpu_stream gpu_check seed primitives table_regions knapsack_two_list; do
      if [ $tool = racecheck ] && { [ $name = gpu_check ] || [ $name = seed ]; }; then
        continue
      fi
      log=$build/$tool-$name.log
      DZO_TEST_DEVICE=cuda timeout 170 \
        compute-sanitizer --tool $tool --error-exitcode 99 --print-limit 10 \
        "$build/tests/unit/watched_$name" >"$log" 2>&1 &
      pids+=($!)
      runs+=("$tool-$name")
    done
  done
  for i in "${!runs[@]}"; do
    log=$build/${runs[$i]}.log
    if wait "${pids[$i]}"; then
      printf '%-22s %s\n' "${runs[$i]}" "$(tail -n 1 "$log")"
    else
      grep -v -e ' RUN ' -e ' OK ' "$log" | head -n 40
      printf '%-22s FAILED; all of it is in %s\n' "${runs[$i]}" "$log"
      bad=1
    fi
  done
  return $bad
}

bench() {
  # shellcheck disable=SC2086
  timeout 200 "$build/dzo" bench msf --device cuda ${DZO_BENCH:---graph rmat --scale 22}
  timeout 100 "$build/dzo" bench table --device cuda --part operations
  timeout 100 "$build/dzo" bench knapsack --device cuda --part thesis --time-limit 5
  timeout 100 "$build/dzo" bench knapsack --device cuda --part sums --time-limit 1
}

case ${1:-all} in
  build | test | sanitize | bench | all) ;;
  help | -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
what=${1:-all}
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
