#include "dataset/synth/distinct.h"

#include <algorithm>

namespace kw::synth {
namespace {

// FNV-1a over the values of one band; the band's number comes first, so that equal values of two bands
// differ.
std::uint64_t band_hash(unsigned band, const std::uint32_t* values, unsigned count) {
  std::uint64_t hash = (0xcbf29ce484222325ULL ^ band) * 0x100000001b3ULL;
  for (unsigned i = 0; i < count; ++i) hash = (hash ^ values[i]) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

Distinct::Distinct(const near::Parameters& parameters) : parameters_(parameters), sketcher_(parameters) {}

std::optional<Similar> Distinct::add(std::uint64_t number, std::string_view text) {
  near::Sketch sketch(std::size_t{parameters_.bands} * parameters_.rows);
  sketcher_.sketch(text, sketch);
  std::vector<std::uint64_t> bands;
  for (unsigned band = 0; band < parameters_.bands; ++band)
    bands.push_back(band_hash(band, sketch.data() + std::size_t{band} * parameters_.rows, parameters_.rows));
  std::vector<std::uint64_t> shingles = near::shingle_set(text, parameters_);
  std::optional<Similar> closest;
  for (std::size_t place : candidates(bands)) {
    const double jaccard = near::jaccard(shingles, shingles_[place]);
    if (jaccard >= parameters_.threshold && (!closest || jaccard > closest->jaccard))
      closest = Similar{numbers_[place], jaccard};
  }
  if (closest) return closest;
  for (std::uint64_t band : bands) places_[band].push_back(numbers_.size());
  numbers_.push_back(number);
  shingles_.push_back(std::move(shingles));
  return std::nullopt;
}

// In the order of their arrival, each once.
std::vector<std::size_t> Distinct::candidates(const std::vector<std::uint64_t>& bands) const {
  std::vector<std::size_t> all;
  for (std::uint64_t band : bands)
    if (auto found = places_.find(band); found != places_.end())
      all.insert(all.end(), found->second.begin(), found->second.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace kw::synth
