// Archives → files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collect/gate.h"

namespace kw::collect {

// An archive in memory, and where it lies.
struct Packed {
  std::string_view bytes;
  std::string prefix;  // of its paths: "deps/x.zip!" for an archive within one; empty for the source itself
  unsigned depth = 0;  // archives around it
  std::uint64_t* unpacked;  // bytes that the whole source has unpacked to so far
};

// The archive's licences and metadata, and what the metadata calls the package.
struct PackedFacts {
  licence::Tree tree;
  std::string name;
  std::string version;
  std::string url;
  bool sdist = false;  // a PKG-INFO in its only top folder
};

// First pass. An error: it is no archive, or damaged before its first entry.
Result<PackedFacts> read_facts(const Packed& packed, const Limits& limits);

// Second pass: every wanted file goes through the gate.
void read_files(const Packed& packed, const corpus::Origin& origin, const licence::Tree& tree, Gate& gate);

// Both passes over an archive found inside another source. Its own licences count before those around it.
void read_nested(const Packed& packed, const corpus::Origin& origin, const std::string& path, Gate& gate);

}  // namespace kw::collect
