#include "schema/task.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "schema/json.h"

namespace kw {

std::string kernelbench_task_id(std::string_view level, std::string_view problem_id) {
  return fmt::format("kernelbench/{}/{}", level.empty() ? "?" : level, problem_id);
}

std::string kernelbook_task_id(std::string_view uuid_or_row) {
  return fmt::format("kernelbook/{}", uuid_or_row);
}

std::string sample_task_id(std::string_view name) {
  return fmt::format("sample/{}", name);
}

std::string hashed_task_id(std::string_view reference_code, std::string_view input_shapes,
                           std::string_view entry_point) {
  std::string bytes(reference_code);
  bytes += '\0';
  bytes += canonical_json_text(input_shapes);
  if (!entry_point.empty()) (bytes += '\0') += entry_point;
  return "sha256:" + sha256_hex(bytes).substr(0, 16);
}

}  // namespace kw
