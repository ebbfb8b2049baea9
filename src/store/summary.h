// Summary: a run in numbers.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kw::store {

struct Summary {
  std::uint64_t traces = 0;
  std::uint64_t ended = 0;
  std::uint64_t correct = 0;   // correct and counting, in at least one turn
  std::uint64_t measured = 0;  // of these: with a speed-up
  std::uint64_t fast_1 = 0;    // of these: more than 1.0 times as fast
  std::uint64_t fast_2 = 0;    // of these: at least 2.0 times as fast
  std::uint64_t turns = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  double generation_s = 0;  // of all answers together
  std::vector<std::pair<std::string, std::uint64_t>>
      stop_reasons;      // of traces that ended, the most frequent first
  double elapsed_s = 0;  // from the first request's trace to the last one that ended, pauses among them
};

boost::json::object to_json(const Summary& summary);

// Lines for a reader, each with its newline.
std::string in_words(const Summary& summary);

}  // namespace kw::store
