// Detects texts that contain a benchmark's text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "dataset/units/row.h"

namespace kw::leak {

// Detects texts that contain a benchmark's text.
struct Thresholds {
  double jaccard = 0.8;            // of the sets of words
  double containment = 0.6;        // share of the reference's windows found in the text
  std::size_t window_tokens = 12;  // in a window, own names are renamed in the order in which they appear
  // A run of that many consecutive windows is a partial copy if it covers a tenth of the reference; a run of
  // four times as many always is.
  std::size_t least_windows = 12;
};

struct Reference {
  std::string against;  // "KernelBench"
  std::string row;      // "level1/19_ReLU.py"
  std::string text;
};

// The texts of a benchmark: a KernelBench or TritonBench checkout, a folder of .py and .cu files, or rows
// (JSON, JSON lines, CSV, Parquet) with code. Equal texts under the same name of `against` are added once.
// Parquet needs the helper. Skips hidden folders and links; an error names the file.
Result<std::vector<Reference>> open_references(const std::string& path, const ParquetHelper& parquet = {});

// What a search compared with: it names the benchmark in reports, also where nothing was found.
struct Benchmark {
  std::string name;    // as in Reference::against
  std::string sha256;  // of names and texts, in any order
  std::uint64_t texts = 0;
};

// By name. The references of several paths under one name are one benchmark.
std::vector<Benchmark> benchmarks_of(const std::vector<Reference>& references);

class Index {
 public:
  explicit Index(std::vector<Reference> references, const Thresholds& thresholds = {});
  ~Index();
  // All references that the text resembles, strongest first; may be called from several threads. `field` is
  // copied into the leaks; the caller sets `relation`. Spans are bytes of the text, at most 64 per leak; if
  // only the words are similar, the span is the complete text.
  std::vector<corpus::Leak> check(std::string_view text, const std::string& field) const;
  std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Jaccard index of the two texts' sets of words (\w+), 0 if either has none.
double word_jaccard(std::string_view a, std::string_view b);

// Apache's notice, and the terms of MIT and BSD, one after the other.
std::string_view licence_notices();

}  // namespace kw::leak
