// What the trainer tells while it works: one JSON object a line. It is a program of ours, but what it imports
// is not, so nothing it says can do more than be wrong.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kw::training {

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

struct Packages {
  std::vector<std::pair<std::string, std::string>> versions;
};

// What became of the rows.
struct DataFacts {
  std::uint64_t rows = 0;
  std::uint64_t used = 0;
  Counts dropped;  // reason → rows
  Counts cut;
  std::uint64_t tokens = 0;
  std::uint64_t learnt_tokens = 0;
  std::uint64_t tokens_cut = 0;      // which `tokens` does not count,
  std::uint64_t tokens_dropped = 0;  // nor these
  std::uint64_t sequences = 0;
  std::uint64_t steps = 0;
  std::optional<double> share_filled;  // of the sequences, 0 to 1
};

// The most memory that the training is thought to take of the device.
struct Estimate {
  Counts parts;  // name → bytes
  std::uint64_t total_bytes = 0;
  std::optional<std::uint64_t> limit_bytes;
  std::optional<bool> fits;
};

struct Step {
  std::uint64_t step = 0;
  std::uint64_t of = 0;
  std::optional<double> loss;
  std::optional<double> learning_rate;
  std::optional<double> gradient_norm;
  std::optional<double> tokens_per_s;
  std::optional<double> memory_bytes;  // the peak; none on a CPU
  std::optional<double> remaining_s;
  std::optional<double> epoch;
};

struct Checkpoint {
  std::string path;
  std::uint64_t step = 0;
};
struct Saved {
  std::string path;
};
struct Notice {
  std::string what;
};
struct Problem {
  Error error;
};
struct Done {
  std::uint64_t steps = 0;
  std::optional<double> loss;
  std::optional<double> seconds;
  std::string path;
};
// Of a newer trainer: kept in the log, not shown.
struct Unknown {};

using Event =
    std::variant<Packages, DataFacts, Estimate, Step, Checkpoint, Saved, Notice, Problem, Done, Unknown>;

// An event with the object it came as.
struct Told {
  Event event;
  boost::json::object object;
};

// An error for what is no JSON object, has no name, or lacks what its name promises. Texts are made plain, so
// that they may be shown on a terminal.
Result<Told> parse_event(std::string_view line);

}  // namespace kw::training
