// The tools `list_tasks` and `get_task`, over the tasks of a source that is read at its first use.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/async/workbench.h"
#include "loop/refine/settings.h"
#include "loop/tasks/source.h"
#include "mcp/tool.h"

namespace kw::mcp {

// Further tasks are left out.
inline constexpr std::size_t most_tasks = 50'000;
inline constexpr std::size_t most_task_bytes = std::size_t{256} << 20;

class TaskCatalog {
 public:
  // `open` is called on another thread, since a source may be large or come from the hub.
  using Open = std::function<Result<SourcePtr>()>;

  TaskCatalog(async::Loop& loop, Open open);
  ~TaskCatalog() { bench_.close(); }

  struct Contents {
    std::vector<Task> tasks;  // each once, in the order of the source
    std::size_t bad_rows = 0;
    std::string first_bad_row;
    bool is_cut = false;  // at the limits above
  };

  // The catalogue keeps the contents; after an error the next call reads again. The wait may be cancelled.
  async::Task<Result<const Contents*>> contents();
  // Whether another thread reads the source: the destructor waits for it.
  bool is_reading() const { return reading_ != nullptr; }
  // By the task's id, else by the key of its sample. The error suggests the nearest.
  async::Task<Result<const Task*>> find(std::string id);

 private:
  static async::Task<> read(TaskCatalog* catalog);

  async::Loop& loop_;
  Open open_;
  async::Workbench bench_;
  std::shared_ptr<async::Event> reading_;  // null: nobody reads
  Result<Contents> contents_{Contents{}};
  bool is_read_ = false;
};

std::unique_ptr<Tool> list_tasks_tool(TaskCatalog& tasks);
std::unique_ptr<Tool> get_task_tool(TaskCatalog& tasks, refine::PromptStyle style, bool gradients = false);

}  // namespace kw::mcp
