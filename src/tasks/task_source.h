// Tasks without candidates: what a model is asked.
#pragma once

#include <optional>
#include <variant>

#include "base/result.h"
#include "schema/task.h"
#include "tasks/job_source.h"

namespace kw {

struct TaskItem {
  Task task;
  std::size_t sample_number = 0;  // occurrence of the task in its source, from 0
};

using TaskOrError = std::variant<TaskItem, RowError>;

class TaskSource {
 public:
  virtual ~TaskSource() = default;

  // The next task or bad row; nothing at the end. An Error means that the source itself is broken and ends.
  virtual Result<std::optional<TaskOrError>> next() = 0;
  virtual std::optional<std::size_t> total() const { return {}; }
};

}  // namespace kw
