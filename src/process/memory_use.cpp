#include "process/memory_use.h"

#include <fmt/format.h>

#include <sstream>
#include <string>

#include "base/files.h"

namespace kw::process {
namespace {

constexpr int max_depth = 64;  // of a tree that may grow while it is walked

// "RssAnon:      1234 kB" in /proc/PID/status.
std::uint64_t field_bytes(const std::string& status, const char* name) {
  std::size_t at = status.find(name);
  if (at == std::string::npos) return 0;
  return std::strtoull(status.c_str() + at + std::string_view(name).size(), nullptr, 10) * 1024;
}

std::uint64_t below(pid_t pid, int depth) {
  if (depth == 0) return 0;
  auto status = read_file(fmt::format("/proc/{}/status", pid));
  if (!status) return 0;
  std::uint64_t bytes = field_bytes(*status, "RssAnon:") + field_bytes(*status, "RssShmem:");
  auto children = read_file(fmt::format("/proc/{}/task/{}/children", pid, pid));
  if (!children) return bytes;
  std::istringstream list(*children);
  for (pid_t child = 0; list >> child;) bytes += below(child, depth - 1);
  return bytes;
}

}  // namespace

std::uint64_t tree_memory_bytes(pid_t root) {
  return below(root, max_depth);
}

}  // namespace kw::process
