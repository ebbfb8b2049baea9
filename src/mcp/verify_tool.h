// The tool `verify`: reads a pair from a call's arguments, judges it, and answers with the verdict in short.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "mcp/judge.h"
#include "mcp/root_folder.h"
#include "mcp/task_tools.h"
#include "mcp/tool.h"
#include "types/enums.h"

namespace kw::mcp {

// Of a reference or a kernel.
inline constexpr std::size_t most_source_bytes = std::size_t{1} << 20;

// The parts that outlive the tool.
struct VerifyParts {
  Judge& judge;
  const RootFolder* root = nullptr;                          // null: no paths
  TaskCatalog* tasks = nullptr;                              // null: no task ids
  Trust min_trust = Trust::replay;                           // of a speed-up
  std::chrono::milliseconds beat = std::chrono::seconds(5);  // between notices of progress
};

std::unique_ptr<Tool> verify_tool(const VerifyParts& parts);

}  // namespace kw::mcp
