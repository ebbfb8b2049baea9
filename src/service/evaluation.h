// Evaluations as the service sees them: what was asked, where it stands, why it was refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schema/job.h"

namespace kw::service {

enum class State { queued, running, done, cancelled };

std::string_view to_string(State state);
inline bool is_over(State state) {
  return state == State::done || state == State::cancelled;
}

// Why something was not done, in HTTP's terms.
struct Refusal {
  int status = 400;
  std::string error_class;  // "invalid", "conflict", "queue_full", ...
  std::string message;
  std::string field{};    // the one to blame: "evaluations[3].kernel_code"; empty: none
  int retry_after_s = 0;  // above 0: worth another try after so long
};

template <typename T = void>
using Answered = std::expected<T, Refusal>;

inline std::unexpected<Refusal> refuse(Refusal refusal) {
  return std::unexpected(std::move(refusal));
}

// What somebody asks for. read_submission makes one of JSON.
struct Submission {
  Job job;  // job.id is the evaluation's
  int priority = 0;
  std::optional<double> deadline_s;  // from its submission
  bool fresh = false;                // no verdict that is there already will do
  std::string request;               // as JSON: what a restarted service reads again
  std::string digest;                // equal for equal requests, however they are written
};

// Where an evaluation stands.
struct Record {
  std::string id;
  State state = State::queued;
  std::shared_ptr<const std::string> verdict;  // JSON of the verdict and of what was carried; null until done
  std::string cause;                           // of a cancellation
  std::int64_t submitted_at_ms = 0;            // since 1970, UTC
  std::optional<std::int64_t> started_at_ms;
  std::optional<std::int64_t> finished_at_ms;
};

// The answer to a submission.
struct Receipt {
  std::string id;
  State state = State::queued;
  std::optional<std::size_t> position;  // so many come first; of a queued one
  bool repeated = false;                // it was there already
};

}  // namespace kw::service
