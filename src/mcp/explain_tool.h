// The tool `explain`: the words of a verdict, as `kernelwright explain` explains them.
#pragma once

#include <memory>

#include "mcp/tool.h"

namespace kw::mcp {

std::unique_ptr<Tool> explain_tool();

}  // namespace kw::mcp
