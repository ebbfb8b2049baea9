// Evaluations of the service: request, state, refusal. EvaluationBackend submits, finds, waits for and
// cancels them; each HTTP dialect is an adapter to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async/loop.h"
#include "base/core/words.h"
#include "types/job.h"

namespace kw::service {

struct KnownTask;   // task_catalogue.h
struct OwnerRules;  // owners.h

// Evaluations of the service: request, state, refusal.
BOOST_DEFINE_ENUM_CLASS(State, queued, running, done, cancelled)

inline bool is_over(State state) {
  return state == State::done || state == State::cancelled;
}

// The reason for a refusal, in HTTP's terms.
struct ApiError {
  int status = 400;
  std::string error_class;  // "invalid", "conflict", "queue_full", ...
  std::string message;
  std::string field{};    // the faulty one: "evaluations[3].kernel_code"; empty: none
  int retry_after_s = 0;  // above 0: a retry can succeed after this time
};

template <typename T = void>
using Answered = std::expected<T, ApiError>;

inline std::unexpected<ApiError> refuse(ApiError refusal) {
  return std::unexpected(std::move(refusal));
}

// A submitted evaluation. read_submission reads one from JSON.
struct Submission {
  Job job;  // job.id is the evaluation's
  int priority = 0;
  std::optional<double> deadline_s;           // from its submission
  bool fresh = false;                         // an existing verdict is not accepted
  std::string request;                        // JSON, which a restarted service reads again
  std::string digest;                         // equal for equal requests, whatever their formatting
  std::shared_ptr<const KnownTask> task{};    // that the request named by id; null: it contains the reference
  std::string owner{};                        // whose it is: OwnedEvaluations sets it. Empty: the operator
  std::shared_ptr<const OwnerRules> rules{};  // the owner's limits; null: none
};

// The state of an evaluation.
struct EvaluationState {
  std::string id;
  State state = State::queued;
  std::shared_ptr<const std::string> verdict;  // JSON of the verdict and the carried fields; null until done
  std::string cause;                           // of a cancellation
  std::int64_t submitted_at_ms = 0;            // since 1970, UTC
  std::optional<std::int64_t> started_at_ms;
  std::optional<std::int64_t> finished_at_ms;
};

// A place in the list of ended evaluations, which is in the order of their ends.
struct EndPlace {
  std::int64_t finished_at_ms = 0;
  std::int64_t seq = 0;
};

// A part of that list, and the place after it.
struct EndedPart {
  std::vector<EvaluationState> records;
  EndPlace next;
};

// The answer to a submission.
struct Receipt {
  std::string id;
  State state = State::queued;
  std::optional<std::size_t> position;  // the number of the owner's evaluations before it, if queued
  bool repeated = false;                // it existed already
};

// EvaluationBackend: submits, finds, waits for and cancels evaluations. Each HTTP dialect is an adapter to
// it.
class EvaluationBackend {
 public:
  virtual ~EvaluationBackend() = default;

  // Submits all or none; they are durable when it returns. An existing id is accepted if its request is
  // equal, and refused (409) otherwise. The refusal's field begins with "evaluations[N]" if there are
  // several and N is faulty.
  virtual async::Task<Answered<std::vector<Receipt>>> submit(std::vector<Submission> submissions) = 0;

  // Their states, in the order of the ids; empty for unknown ones.
  virtual async::Task<Answered<std::vector<std::optional<EvaluationState>>>> find(
      std::vector<std::string> ids) = 0;

  // As find(), after one of them has ended or is unknown, the deadline has passed, or the service ends.
  virtual async::Task<Answered<std::vector<std::optional<EvaluationState>>>> wait(
      std::vector<std::string> ids, async::Deadline deadline) = 0;

  // The evaluations that ended after that place, at most so many.
  virtual async::Task<Answered<EndedPart>> ended(EndPlace after, std::size_t most) = 0;

  // Empty for an unknown id; an ended evaluation stays unchanged.
  virtual async::Task<Answered<std::optional<EvaluationState>>> cancel(std::string id, std::string cause) = 0;
};

}  // namespace kw::service
