// Entry: an evaluation that is not over yet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/loop.h"
#include "service/evaluation.h"
#include "verify/shared_verifier.h"

namespace kw::service {

class Watch;

struct Entry {
  std::shared_ptr<const Job> job;
  std::string digest;
  int priority = 0;
  bool fresh = false;
  std::size_t bytes = 0;  // of its request
  async::Deadline deadline;

  std::string work_key;   // equal for equal work; empty until a verifier says its protocol
  std::int64_t seq = 0;   // in the store: its place among those of one priority
  bool admitted = false;  // it is in the store
  bool dropped = false;   // it is not kept in memory: it never came there, or it was there long ago
  bool repeated = false;  // the latter
  bool ending = false;    // its end is being written
  Record record;          // as the world knows it
  std::optional<verify::SharedVerifier::Share> share;  // of the work that gives it its verdict, while it runs
  std::vector<Watch*> watches;                         // sorted
};

using EntryPtr = std::shared_ptr<Entry>;

}  // namespace kw::service
