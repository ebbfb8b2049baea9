// Sketches of texts, stored in a folder by the texts' hashes: each text is sketched only once.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/core/result.h"
#include "code/similarity/near.h"

namespace kw::dataset {

using Digest = std::array<unsigned char, 20>;  // a SHA-1

Digest digest_of_hex(std::string_view hex);

struct DigestHash {
  std::size_t operator()(const Digest& digest) const;
};

using DigestNumbers = std::unordered_map<Digest, std::uint32_t, DigestHash>;

class KeptSketches {
 public:
  static Result<KeptSketches> open(const std::filesystem::path& folder, const near::Parameters& parameters);

  std::uint32_t number(const Digest& key) const { return numbers_.at(key); }
  bool has(const Digest& key) const { return numbers_.contains(key); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(numbers_.size()); }
  const near::SketchFile& file() const { return file_; }

  // The sketches of these keys, in that order, in a file that is removed with the last copy of the result.
  // The construction needs memory for all of them: suited to units, not to files of rows.
  Result<near::SketchFile> select(const std::vector<Digest>& keys) const;

 private:
  friend class Sketching;
  KeptSketches(std::filesystem::path folder, near::SketchFile file)
      : folder_(std::move(folder)), file_(std::move(file)) {}

  std::filesystem::path folder_;
  near::SketchFile file_;
  DigestNumbers numbers_;
};

// Adds texts to the sketches in several threads.
class Sketching {
 public:
  struct Prepared {
    Digest key{};
    std::string text;  // under that key
  };
  // Runs in a worker thread: reads and hashes.
  using Job = std::function<Result<Prepared>()>;
  // The number of a text's sketch, and whether it is the first text with that key in this process; in the
  // order of the jobs.
  using Placed = std::function<void(std::uint32_t number, bool is_first)>;

  Sketching(KeptSketches& sketches, unsigned threads, Placed placed);
  ~Sketching();

  void push(Job job);
  Result<> finish();
  std::uint64_t bytes() const;           // of all texts
  std::uint64_t sketched_bytes() const;  // of those that were not known

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::dataset
