// Which Python runs PyTorch and Triton.
#pragma once

#include <string>

#include "engine/installation.h"

namespace kw::engine {

struct Python {
  std::filesystem::path path;
  std::string chosen_by;  // "--python", "VIRTUAL_ENV", ".venv", "PATH"
};

// `asked`, else $VIRTUAL_ENV, else the .venv beside the build folder, else python3 on PATH.
Result<Python> find_python(const std::string& asked, const Installation& installation);

}  // namespace kw::engine
