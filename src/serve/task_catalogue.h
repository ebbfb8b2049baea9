// TaskCatalogue: the tasks that clients name by id (--tasks), in memory, each with the version of its
// content.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/core/result.h"
#include "loop/tasks/source.h"
#include "serve/evaluation.h"
#include "types/job.h"

namespace kw::service {

// A task as a request names it.
struct KnownTask {
  Task task;
  std::string version;
};

using KnownTaskPtr = std::shared_ptr<const KnownTask>;

// 32 hexadecimal digits of SHA-256 over everything of the task that decides a verdict: reference, input
// shapes and entry point. Its names are not part of it.
std::string version_of(const Task& task);

// The fields of a task that the store keeps with an evaluation or a conversation, as JSON, and back.
std::string pinned_text(const KnownTask& task);
Result<KnownTaskPtr> read_pinned(std::string_view text);

// Finds the task of a request by its id and, unless it is empty, checks its version.
using FindTask = std::function<Answered<KnownTaskPtr>(std::string_view id, std::string_view version)>;

class TaskCatalogue {
 public:
  struct Counts {
    std::size_t bad_rows = 0;
    std::size_t repeated = 0;  // rows with the id and the version of an earlier one
  };

  // Reads the whole source and keeps its tasks; kernels of its rows are not read. An id that names two tasks
  // of different versions is an error, and so is a source without tasks. Bad rows are passed on and left out.
  // `name`: of the source, for its errors.
  static Result<TaskCatalogue> read(Source& source, const std::function<void(const RowError&)>& bad_row,
                                    std::string_view name = "--tasks");

  // By task_id, else by the source's own name for the task where it is unique. Null: there is none.
  KnownTaskPtr find(std::string_view name) const;

  // find() with the refusals of the interface: unknown_task with the nearest id, and other_version.
  Answered<KnownTaskPtr> look_up(std::string_view name, std::string_view version) const;

  // In the order of the source.
  const std::vector<KnownTaskPtr>& all() const { return tasks_; }
  const Counts& counts() const { return counts_; }
  // Of the texts of all tasks.
  std::size_t bytes() const { return bytes_; }

 private:
  Result<> add(Task task);
  std::string nearest_id(std::string_view name) const;

  std::vector<KnownTaskPtr> tasks_;
  std::unordered_map<std::string_view, KnownTaskPtr> by_id_;  // keys lie in the tasks
  std::map<std::string, KnownTaskPtr, std::less<>> by_key_;   // null: the key is not unique
  Counts counts_;
  std::size_t bytes_ = 0;
};

using TaskCataloguePtr = std::shared_ptr<const TaskCatalogue>;

}  // namespace kw::service
