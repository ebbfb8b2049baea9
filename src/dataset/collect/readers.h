// Read the files of folders and archives within size limits, and pass wanted files to the sink.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "dataset/collect/collect.h"
#include "dataset/licence/licence.h"

namespace kw::collect {

// Of a file that states a licence.
inline constexpr std::uint64_t max_licence_bytes = std::uint64_t{4} << 20;

class Gate {
 public:
  Gate(const Limits& limits, const Sink& sink) : limits_(limits), sink_(sink) {}

  const Limits& limits() const { return limits_; }
  bool wants(const std::string& path) const { return !sink_.wants || sink_.wants(path); }

  void see(std::uint64_t bytes);
  void skip(const corpus::Origin& origin, const std::string& path, std::string reason,
            std::string detail = {});
  // Skips binary files and files that are not UTF-8.
  void offer(const corpus::Origin& origin, const std::string& path, std::string bytes,
             const licence::Tree& tree);

  const Tally& tally() const { return tally_; }

 private:
  const Limits& limits_;
  const Sink& sink_;
  Tally tally_;
};

// Limits of the unpacked size of one archive.
class Budget {
 public:
  Budget(const Limits& limits, std::uint64_t packed_bytes, std::uint64_t& unpacked_in_all)
      : limits_(limits), packed_(packed_bytes), all_(unpacked_in_all) {}

  // Whether another entry, or so many more unpacked bytes, are within the limits.
  bool entry() { return ++entries_ <= limits_.entries; }
  bool bytes(std::uint64_t count);

 private:
  const Limits& limits_;
  std::uint64_t packed_;
  std::uint64_t& all_;
  std::uint64_t own_ = 0;
  std::uint64_t entries_ = 0;
};

// An archive in memory, and its path.
struct Packed {
  std::string_view bytes;
  std::string prefix;  // of its paths: "deps/x.zip!" for an archive within one; empty for the source itself
  unsigned depth = 0;  // archives around it
  std::uint64_t* unpacked;  // bytes that the whole source has unpacked to so far
};

// The archive's licences, and the package's name and version from its metadata.
struct PackedFacts {
  licence::Tree tree;
  std::string name;
  std::string version;
  std::string url;
  bool sdist = false;  // a PKG-INFO in its only top folder
};

// First pass. An error if the file is not an archive, or is damaged before its first entry.
Result<PackedFacts> read_facts(const Packed& packed, const Limits& limits);

// Second pass: sends every wanted file through the gate.
void read_files(const Packed& packed, const corpus::Origin& origin, const licence::Tree& tree, Gate& gate);

// Both passes over an archive found inside another source. Its own licences take precedence over those of
// the source.
void read_nested(const Packed& packed, const corpus::Origin& origin, const std::string& path, Gate& gate);

// Two passes: licences and metadata, then every wanted file through the gate. Links are not followed.
Result<> read_folder(const std::string& path, const corpus::Origin& origin, Gate& gate);

}  // namespace kw::collect
