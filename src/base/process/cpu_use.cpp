#include "base/process/cpu_use.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/core/files.h"
#include "base/core/text.h"

namespace kw::process {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_processes = 4096;  // limits the walk of a tree that may grow meanwhile
constexpr double starved_share = 0.5;

std::vector<pid_t> threads_of(pid_t pid, const fs::path& proc) {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator at(proc / std::to_string(pid) / "task", error), end; !error && at != end;
       at.increment(error))
    found.push_back(static_cast<pid_t>(std::atol(at->path().filename().c_str())));
  return found;
}

// utime, stime, cutime and cstime: the 14th to the 17th field of /proc/PID/stat.
double ran_ms(pid_t pid, const fs::path& proc) {
  static const double ticks_per_ms = static_cast<double>(::sysconf(_SC_CLK_TCK)) / 1000.0;
  auto stat = read_file(proc / std::to_string(pid) / "stat");
  const auto name_ends = stat ? stat->rfind(')') : std::string::npos;
  if (name_ends == std::string::npos) return 0;
  std::istringstream fields(stat->substr(name_ends + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double ticks = 0;
  for (int field = 14; field < 18; ++field) {
    double each = 0;
    fields >> each;
    ticks += each;
  }
  return ticks / ticks_per_ms;
}

// "Cpus_allowed_list:\t0-3,8" counts 5.
std::uint64_t allowed_cpus(const fs::path& thread) {
  constexpr std::string_view name = "Cpus_allowed_list:";
  auto status = read_file(thread / "status");
  const auto at = status ? status->find(name) : std::string::npos;
  if (at == std::string::npos) return 1;
  std::istringstream ranges(status->substr(at + name.size(), status->find('\n', at) - at - name.size()));
  std::uint64_t count = 0;
  for (std::string range; std::getline(ranges, range, ',');) {
    const std::uint64_t first = std::strtoull(range.c_str(), nullptr, 10);
    const auto dash = range.find('-');
    const std::uint64_t last =
        dash == std::string::npos ? first : std::strtoull(range.c_str() + dash + 1, nullptr, 10);
    count += last >= first ? last - first + 1 : 0;
  }
  return std::max<std::uint64_t>(1, count);
}

}  // namespace

std::vector<pid_t> tree_of(pid_t root, const fs::path& proc) {
  std::vector<pid_t> tree{root};
  for (std::size_t next = 0; next < tree.size(); ++next) {
    const fs::path tasks = proc / std::to_string(tree[next]) / "task";
    for (pid_t thread : threads_of(tree[next], proc)) {
      auto children = read_file(tasks / std::to_string(thread) / "children");
      std::istringstream list(children.value_or(""));
      for (pid_t child = 0; tree.size() < most_processes && list >> child;) tree.push_back(child);
    }
  }
  std::error_code ignored;
  return fs::exists(proc / std::to_string(root), ignored) ? tree : std::vector<pid_t>{};
}

CpuUse cpu_use(pid_t root, const fs::path& proc) {
  CpuUse use;
  for (pid_t pid : tree_of(root, proc)) {
    use.ran_ms += ran_ms(pid, proc);
    for (pid_t thread : threads_of(pid, proc)) {
      const fs::path folder = proc / std::to_string(pid) / "task" / std::to_string(thread);
      auto schedstat = read_file(folder / "schedstat");  // ran ns, waited ns, slices
      std::istringstream fields(schedstat.value_or(""));
      double ran_ns = 0;
      double waited_ns = 0;
      if (fields >> ran_ns >> waited_ns) use.threads[thread] = {waited_ns / 1e6, allowed_cpus(folder)};
    }
  }
  return use;
}

bool is_starved(const CpuUse& before, const CpuUse& after, double elapsed_ms) {
  ThreadWait longest{.waited_ms = 0};
  for (const auto& [thread, wait] : after.threads) {
    auto earlier = before.threads.find(thread);
    const double waited_ms =
        wait.waited_ms - (earlier == before.threads.end() ? 0 : earlier->second.waited_ms);
    if (waited_ms > longest.waited_ms) longest = {waited_ms, wait.cpus};
  }
  const double offered_ms = elapsed_ms * static_cast<double>(longest.cpus);
  return elapsed_ms > 0 && longest.waited_ms >= starved_share * elapsed_ms &&
         after.ran_ms - before.ran_ms < starved_share * offered_ms;
}

}  // namespace kw::process
