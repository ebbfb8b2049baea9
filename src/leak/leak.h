// Whether a text is, or holds, one that must not be trained on.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "corpus/row.h"
#include "table/row_reader.h"

namespace kw::leak {

struct Thresholds {
  double jaccard = 0.8;            // of the sets of words
  double containment = 0.6;        // share of the reference's windows found in the text
  std::size_t window_tokens = 12;  // in a window, own names are renamed in the order in which they appear
  // A run of so many consecutive windows is a partial copy if it is a tenth of the reference; four times as
  // many are, however large the rest.
  std::size_t least_windows = 12;
};

struct Reference {
  std::string against;  // "KernelBench"
  std::string row;      // "level1/19_ReLU.py"
  std::string text;
};

// The texts of a benchmark: a KernelBench or TritonBench checkout, a folder of .py and .cu files, or rows
// (JSON, JSON lines, CSV, Parquet) with code in them. The same text under the same name of `against` comes
// once. Parquet needs the helper. Hidden folders and links are passed over; an error names the file.
Result<std::vector<Reference>> open_references(const std::string& path, const ParquetHelper& parquet = {});

class Index {
 public:
  explicit Index(std::vector<Reference> references, const Thresholds& thresholds = {});
  ~Index();
  // All references that the text resembles, strongest first; may be called from several threads.
  // `field` is copied into the leaks; `relation` is the caller's to fill in. Spans are bytes of the text, at
  // most 64 a leak; where only the words are alike, the whole text.
  std::vector<corpus::Leak> check(std::string_view text, const std::string& field) const;
  std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Jaccard index of the two texts' sets of words (\w+), 0 where either has none.
double word_jaccard(std::string_view a, std::string_view b);

}  // namespace kw::leak
