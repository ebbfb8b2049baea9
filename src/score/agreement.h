// Whether the automatic checks and a person say the same of an answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "score/intervals.h"

namespace kw::score {

struct Judged {
  bool automatic = false;  // the checks call it good
  bool person = false;     // the person's label is favourable
};

struct Agreement {
  std::size_t both_good = 0;
  std::size_t only_automatic = 0;  // the checks call good what the person does not
  std::size_t only_person = 0;
  std::size_t both_bad = 0;
  Estimate raw;                 // share of equal judgements, Wilson's interval
  double expected = 0;          // the share that two judges with these habits reach by chance
  std::optional<double> kappa;  // (raw - expected) / (1 - expected): Cohen 1960, "A coefficient of agreement
                                // for nominal scales", Educational and Psychological Measurement 20
  std::string kappa_words;      // what the number means, or why there is none
};

// Of one reviewer; several reviewers' words on one target are several agreements.
Agreement agreement(const std::vector<Judged>& judged, double confidence = 0.95);

}  // namespace kw::score
