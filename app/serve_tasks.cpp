#include "serve_tasks.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/core/display.h"
#include "loop/tasks/select_tasks.h"
#include "verifier_source.h"

namespace kw::app {
namespace {

constexpr std::size_t most_told = 20;
constexpr std::pair<std::string_view, std::string TaskSelection::*> named_sources[] = {
    {"kernelbook:", &TaskSelection::kernelbook}, {"kernelbench:", &TaskSelection::kernelbench}};

// "kernelbench:hub@REVISION" is the data set; anything else is a path.
Result<> add_source(TaskSelection& selection, const std::string& source) {
  for (const auto& [prefix, member] : named_sources) {
    if (!source.starts_with(prefix)) continue;
    std::string named = source.substr(prefix.size());
    if (!(selection.*member).empty() || named.empty())
      return fail(fmt::format("the source {} is {}", source, named.empty() ? "empty" : "named twice"),
                  "give kernelbook:hub or kernelbench:hub once, or paths");
    selection.*member = std::move(named);
    return {};
  }
  selection.paths.push_back(source);
  return {};
}

}  // namespace

void tell_bad_task(const RowError& bad, std::size_t number) {
  if (number <= most_told) fmt::print(stderr, "bad task: {}\n", visible_line(describe(bad)));
}

Result<SourcePtr> open_task_sources(const std::vector<std::string>& sources, const std::string& python) {
  TaskSelection selection;
  selection.kernelbook_samples = selection.kernelbench_samples = SIZE_MAX;  // all
  for (const std::string& source : sources)
    if (auto added = add_source(selection, source); !added) return std::unexpected(added.error());
  return select_tasks(selection, 0, parquet_helper(python));
}

Result<service::TaskCataloguePtr> read_service_tasks(const std::vector<std::string>& sources,
                                                     const std::string& python) {
  if (sources.empty()) return nullptr;
  auto source = open_task_sources(sources, python);
  if (!source) return std::unexpected(source.error());
  std::size_t bad_rows = 0;
  auto tasks =
      service::TaskCatalogue::read(**source, [&](const RowError& bad) { tell_bad_task(bad, ++bad_rows); });
  if (!tasks) return std::unexpected(tasks.error());
  const auto& counts = tasks->counts();
  fmt::print(stderr, "tasks: {} ({} bytes of text)", tasks->all().size(), tasks->bytes());
  if (counts.bad_rows > 0) fmt::print(stderr, ", {} bad rows left out", counts.bad_rows);
  if (counts.repeated > 0) fmt::print(stderr, ", {} rows repeat a task", counts.repeated);
  fmt::print(stderr, "\n");
  return std::make_shared<const service::TaskCatalogue>(std::move(*tasks));
}

}  // namespace kw::app
