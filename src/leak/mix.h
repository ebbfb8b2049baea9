// Hashes for tables in memory; the same on every machine.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace kw::leak {

// A bijection whose every output bit depends on every input bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = 0x9e3779b97f4a7c15U ^ bytes.size();
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = mix(hash ^ word);
    bytes.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes.data(), bytes.size());
  return mix(hash ^ rest);
}

}  // namespace kw::leak
