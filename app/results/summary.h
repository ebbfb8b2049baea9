// What all verdicts of a run come to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/result_row.h"

namespace kw {

struct Summary {
  std::size_t total = 0;
  std::size_t correct = 0;
  std::size_t counting = 0;
  std::size_t incorrect = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
  std::size_t errors = 0;
  std::size_t infrastructure = 0;  // of the errors: those that got no verdict
  std::size_t measured = 0;        // rows with a speed-up
  std::size_t faster = 0;          // of these: correct, counting, above 1.0
  std::size_t compared = 0;        // with a recorded verdict, and judged here
  std::size_t agreed = 0;
  std::vector<std::string> differences;
  std::vector<std::string> not_judged;  // recorded, but skipped or error here
};

Summary summarise(const std::vector<ResultRow>& rows);

std::string in_words(const Summary& summary);

}  // namespace kw
