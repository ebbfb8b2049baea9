// Events of the trainer: one JSON object per line, read from a pipe and kept in log.jsonl. The trainer
// imports third-party code, so its events are untrusted.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"

namespace kw::training {

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

// Events of the trainer: one JSON object per line. The trainer imports third-party code, so its events are
// untrusted.
struct Packages {
  std::vector<std::pair<std::string, std::string>> versions;
};

// Counts of used and omitted rows.
struct DataFacts {
  std::uint64_t rows = 0;
  std::uint64_t used = 0;
  Counts dropped;  // reason → rows
  Counts cut;
  std::uint64_t tokens = 0;
  std::uint64_t learnt_tokens = 0;
  std::uint64_t tokens_cut = 0;      // not included in `tokens`
  std::uint64_t tokens_dropped = 0;  // not included in `tokens`
  std::uint64_t sequences = 0;
  std::uint64_t steps = 0;
  std::optional<double> share_filled;  // of the sequences, 0 to 1
};

// The estimated peak of device memory.
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

// Counts of the rows for the held-out loss.
struct ValidationFacts {
  std::uint64_t rows = 0;
  std::uint64_t used = 0;
  Counts dropped;  // reason → rows
};

// A measurement of the held-out loss. Step 0 is the base model.
struct HeldOutLoss {
  std::uint64_t step = 0;
  std::optional<double> loss;
  std::optional<std::uint64_t> best_step;
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
// A fault that does not stop the training, but that its user must know.
struct Warning {
  Error text;
};
struct Problem {
  Error error;
  bool usage = false;  // the flags or the recipe are at fault
};
struct Done {
  std::uint64_t steps = 0;
  std::optional<double> loss;
  std::optional<double> seconds;
  std::string path;
  std::optional<double> validation_loss;  // of the best step
  std::optional<std::uint64_t> best_step;
  bool ended_early = false;
};
// An event of a newer trainer: logged, not shown.
struct Unknown {};

using Event = std::variant<Packages, DataFacts, ValidationFacts, Estimate, Step, HeldOutLoss, Checkpoint,
                           Saved, Notice, Warning, Problem, Done, Unknown>;

// An event with its JSON object.
struct Told {
  Event event;
  boost::json::object object;
};

// An error if the line is not a JSON object, has no name, or lacks a field of its event. Texts are made
// plain, for display on a terminal.
Result<Told> parse_event(std::string_view line);

// Drops a line above the limit, so that endless output takes no memory.
class EventLines {
 public:
  static constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

  // Calls `line` for each complete line; skips empty ones.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& line);
  // The text after the last line break.
  std::string take_rest();
  std::uint64_t dropped() const { return dropped_; }

 private:
  void end_line(const std::function<void(std::string_view)>& line);

  std::string open_;
  bool too_long_ = false;
  std::uint64_t dropped_ = 0;
};

// log.jsonl: every event of a training with its time.
class EventLog {
 public:
  // Appends to the file; first ends a last line that a crash truncated.
  static Result<EventLog> open(const std::filesystem::path& file);

  // Adds "time", UTC. Writes each line at once, so that readers see complete lines. Reports one error; after
  // a failed write it writes nothing.
  Result<> add(boost::json::object event);

 private:
  EventLog(std::filesystem::path path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::filesystem::path path_;
  Fd fd_;
};

}  // namespace kw::training
