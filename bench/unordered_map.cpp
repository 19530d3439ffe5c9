// SPDX-License-Identifier: Apache-2.0
// Copyright The dzo authors
// The published GPU table's experiment with std::unordered_map, which stands beside it there:
// insert pairs of 32-bit words into a table with room for them, erase half, read the rest, free.
// One thread. Prints seconds; dzo bench table --part transfer is the same on a GPU.
//
//   c++ -O2 -std=c++17 bench/unordered_map.cpp -o unordered_map && ./unordered_map [PAIRS]
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <vector>

namespace {

// A bijection, so that all keys are different.
uint32_t key_of(uint32_t x) {
  x = (x ^ x >> 16) * 0x21f0aaadu;
  x = (x ^ x >> 15) * 0xd35a2d97u;
  return x ^ x >> 15;
}

double now() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

} // namespace

int main(int argc, char **argv) {
  const uint64_t pairs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : uint64_t{1} << 26;
  if (pairs == 0 || pairs > UINT32_MAX) {
    std::fprintf(stderr, "usage: unordered_map [PAIRS]; fewer than 2^32\n");
    return 2;
  }
  std::vector<uint32_t> keys(pairs);
  for (uint64_t i = 0; i < pairs; i++)
    keys[i] = key_of(static_cast<uint32_t>(i));

  const double begun = now();
  auto map = std::make_unique<std::unordered_map<uint32_t, uint32_t>>();
  map->reserve(2 * pairs);
  for (const uint32_t key : keys)
    map->emplace(key, key + 1);
  const double inserted = now();
  for (uint64_t i = 0; i < pairs / 2; i++)
    map->erase(keys[i]);
  const double erased = now();
  uint64_t left = 0, wrong = 0;
  for (const auto &pair : *map) {
    left++;
    wrong += pair.second != pair.first + 1;
  }
  const double read = now();
  map.reset();
  const double freed = now();

  if (left != pairs - pairs / 2 || wrong != 0) {
    std::fprintf(stderr, "unordered_map: wrong pairs\n");
    return 1;
  }
  std::printf("{\"benchmark\": \"unordered_map\", \"pairs\": %" PRIu64
              ", \"seconds\": {\"insert\": %.6f, \"erase\": %.6f, \"read\": %.6f, \"free\": %.6f, "
              "\"total\": %.6f}}\n",
              pairs, inserted - begun, erased - inserted, read - erased, freed - read,
              freed - begun);
  return 0;
}
