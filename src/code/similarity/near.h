// Near duplicates: MinHash sketches, bands, and exact Jaccard for every candidate pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw::near {

// Words are runs of letters, digits, '_' and bytes over 127; every other byte except white space is a
// separate token. A shingle is `shingle_tokens` consecutive tokens (a text with fewer is one shingle); with
// words_only, consecutive words.
struct Parameters {
  unsigned shingle_tokens = 5;
  bool words_only = false;
  unsigned bands = 21;
  unsigned rows = 6;       // 126 hash functions
  double threshold = 0.8;  // of the Jaccard index of the two sets of shingles
  std::uint64_t seed = 1;
};

using Sketch = std::vector<std::uint32_t>;  // bands * rows minima

class Sketcher {
 public:
  explicit Sketcher(const Parameters& parameters);
  // The sketch of one text; `out` has bands * rows places. An empty text gives all ones. Equal on every
  // machine.
  void sketch(std::string_view text, std::span<std::uint32_t> out);

 private:
  Parameters parameters_;
  std::vector<std::uint32_t> factors_;  // these three are padded to the width of the vectors
  std::vector<std::uint32_t> addends_;
  std::vector<std::uint32_t> minima_;
  std::vector<std::uint32_t> shingles_;
};

// The text's shingles as sorted, unique hashes. With 64 bits, a hash collision in a pair of texts with a
// million shingles each has a probability of about 1e-7; "exact" is meant up to this.
std::vector<std::uint64_t> shingle_set(std::string_view text, const Parameters& parameters);

// |a and b| / |a or b| of two shingle sets; of two empty ones 1.
double jaccard(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

// Texts that can be read again by number; several threads call it.
using TextAt = std::function<Result<std::string>(std::uint32_t number)>;

struct Pair {
  std::uint32_t a = 0;  // a < b
  std::uint32_t b = 0;
  double jaccard = 0;
};

// Sketches of many texts in a file; rows are numbered from 0 in the order of their addition. An append is
// written once flush() has returned or the last copy of the object is destroyed; of a truncated file,
// complete blocks count. Not for two writers at a time.
class SketchFile {
 public:
  // Up to 4096 texts: the `rows` values of every text in band 0, then in band 1, and so on.
  struct Block {
    std::uint32_t first = 0;
    std::uint32_t texts = 0;
    std::span<const std::uint32_t> values;
  };

  // Opens or creates the file; keeps existing sketches with equal parameters (except for the threshold).
  static Result<SketchFile> open(const std::filesystem::path& path, const Parameters& parameters);
  Result<> append(std::span<const std::uint32_t> sketches);  // one or more, concatenated
  Result<> flush();
  std::uint32_t count() const;
  Result<std::vector<std::uint32_t>> band(unsigned band) const;  // rows values each, for all texts
  Result<> each_block(const std::function<Result<>(const Block&)>& use) const;
  const Parameters& parameters() const;
  const std::filesystem::path& path() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct JoinOptions {
  unsigned threads = 1;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  bool all_pairs = false;       // else skips pairs within one cluster
  std::uint32_t first_new = 0;  // only pairs with at least one text from here on
  // Called often; true ends the work with an error.
  std::function<bool()> stop = {};
};

struct JoinTally {
  std::uint64_t candidates = 0;  // pairs that share a band and are not yet in one cluster, each once
  std::uint64_t verified = 0;    // of these, compared with the threshold by exact Jaccard
  std::uint64_t over = 0;        // at or over the threshold
  std::uint64_t bounded = 0;     // skipped in a bucket that is too full; counted in each such bucket
};

struct Joined {
  std::vector<Pair> pairs;  // at or over the threshold, by a, then b
  JoinTally tally;
};

// All pairs at or over the threshold that share a band; without all_pairs, enough of them to connect the
// same components. Independent of the number of threads. Memory beside the pairs: 104 bytes per text (21
// bands; 20 bytes if that is over half of memory_bytes: then band hashes go to an unnamed file), and the
// rest of memory_bytes for the texts' shingles.
Result<Joined> join(const SketchFile& sketches, const TextAt& text, const JoinOptions& options);

// Chooses the kept texts: every dropped text has a kept one at or over the threshold, by exact Jaccard.
// better(a, b) prefers a to b; a strict order. With `alike`, a text is dropped only for a kept one that is
// alike.
struct Cluster {
  std::uint32_t kept = 0;
  struct Member {
    std::uint32_t number = 0;
    double jaccard = 0;  // with `kept`
  };
  std::vector<Member> dropped;  // by number
};

using Alike = std::function<Result<bool>(std::uint32_t kept, std::uint32_t dropped)>;

Result<std::vector<Cluster>> choose(const std::vector<Pair>& pairs, std::uint32_t count, const TextAt& text,
                                    const Parameters& parameters,
                                    const std::function<bool(std::uint32_t, std::uint32_t)>& better,
                                    const Alike& alike = {});

}  // namespace kw::near
