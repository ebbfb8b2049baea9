// EvaluationDesk: evaluations submitted, found, waited for and cancelled. Every dialect of HTTP is an adapter
// to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/loop.h"
#include "service/evaluation.h"

namespace kw::service {

class EvaluationDesk {
 public:
  virtual ~EvaluationDesk() = default;

  // All or none; durable when it ends. An id that is there is repeated where the request is equal, and
  // refused (409) where it is not. The refusal's field begins with "evaluations[N]" where N is to blame and
  // there are several.
  virtual async::Task<Answered<std::vector<Receipt>>> submit(std::vector<Submission> submissions) = 0;

  // Where they stand, in the order of the ids; nothing for unknown ones.
  virtual async::Task<Answered<std::vector<std::optional<Record>>>> find(std::vector<std::string> ids) = 0;

  // As find(), once one of them is over or unknown, the deadline has passed, or the service ends.
  virtual async::Task<Answered<std::vector<std::optional<Record>>>> wait(std::vector<std::string> ids,
                                                                         async::Deadline deadline) = 0;

  // Nothing for an unknown one; one that is over stays as it is.
  virtual async::Task<Answered<std::optional<Record>>> cancel(std::string id, std::string cause) = 0;
};

}  // namespace kw::service
