// Flags of exports that heed the labels of a human review.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "types/review.h"

namespace kw {

struct ReviewFlags {
  std::string log;                     // empty: the one beside the source
  std::vector<ReviewLabel> leave_out;  // answers with one of these labels

  void add(CLI::App& app);

  // The labels for a source. An error if a given log does not exist.
  Result<ReviewLabels> read(const std::string& source) const;
};

}  // namespace kw
