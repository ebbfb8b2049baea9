#include "engine/python.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace kw::engine {
namespace {

namespace fs = std::filesystem;

bool runs(const fs::path& path) {
  return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path);
}

fs::path on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && runs(fs::path(folder) / name)) return fs::path(folder) / name;
  return {};
}

}  // namespace

Result<Python> find_python(const std::string& asked, const Installation& installation) {
  if (!asked.empty()) {
    fs::path path = asked.find('/') == std::string::npos ? on_path(asked) : fs::absolute(asked);
    if (fs::is_directory(path)) path /= "bin/python";
    if (path.empty() || !runs(path))
      return fail(fmt::format("--python {}: no such program", asked),
                  "name a python that has torch and triton");
    return Python{path, "--python"};
  }
  if (const char* active = std::getenv("VIRTUAL_ENV");
      active != nullptr && runs(fs::path(active) / "bin/python"))
    return Python{fs::path(active) / "bin/python", "VIRTUAL_ENV"};
  fs::path beside = installation.program.parent_path() / "../.venv/bin/python";
  if (runs(beside)) return Python{beside.lexically_normal(), ".venv"};
  for (const char* name : {"python3", "python"})
    if (fs::path path = on_path(name); !path.empty()) return Python{path, "PATH"};
  return fail("no Python found", "run `make demo`, or name one that has torch and triton with --python");
}

}  // namespace kw::engine
