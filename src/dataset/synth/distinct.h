// Finds near duplicates among texts that arrive one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "code/similarity/near.h"

namespace kw::synth {

struct Similar {
  std::uint64_t number = 0;  // of the earlier text
  double jaccard = 0;
};

// Keeps the shingles of every distinct text in memory, some kilobytes each.
class Distinct {
 public:
  explicit Distinct(const near::Parameters& parameters);

  // The earlier distinct text that is most similar, if it is at or over the threshold and shares a band; else
  // the text becomes one of the distinct ones.
  std::optional<Similar> add(std::uint64_t number, std::string_view text);

 private:
  std::vector<std::size_t> candidates(const std::vector<std::uint64_t>& bands) const;

  near::Parameters parameters_;
  near::Sketcher sketcher_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::vector<std::uint64_t>> shingles_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> places_;  // by the hash of a band
};

}  // namespace kw::synth
