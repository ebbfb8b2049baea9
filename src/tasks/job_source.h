// Where jobs come from. A bad row is an answer like a job, so that the good rows after it still run.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "schema/job.h"
#include "table/row_error.h"

namespace kw {

using JobOrError = std::variant<Job, RowError>;

class JobSource {
 public:
  virtual ~JobSource() = default;

  // The next job or bad row; nothing at the end. An Error means that the source itself is broken and ends.
  virtual Result<std::optional<JobOrError>> next() = 0;

  // How many there will be, where that is known before the end.
  virtual std::optional<std::size_t> total() const { return {}; }
};

// Counts how often a name was met: 0 the first time.
class Occurrences {
 public:
  std::size_t next(const std::string& name) { return counts_[name]++; }

 private:
  std::map<std::string, std::size_t> counts_;
};

}  // namespace kw
