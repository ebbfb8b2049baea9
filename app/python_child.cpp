#include "python_child.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "engine/python.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> environment_with(const engine::Installation& installation) {
  std::string path;
  for (const fs::path& folder : installation.python_path) path += folder.string() + ":";
  const char* theirs = std::getenv("PYTHONPATH");
  if (theirs != nullptr && *theirs != '\0')
    path += theirs;
  else if (!path.empty())
    path.pop_back();
  std::vector<std::string> result{"PYTHONPATH=" + path, "PYTHONUNBUFFERED=1"};
  for (char** each = environ; *each != nullptr; ++each) {
    std::string_view variable(*each);
    if (!variable.starts_with("PYTHONPATH=") && !variable.starts_with("PYTHONUNBUFFERED="))
      result.emplace_back(variable);
  }
  return result;
}

}  // namespace

Result<PythonChild> python_child(const std::string& asked) {
  auto installation = engine::find_installation();
  if (!installation) return std::unexpected(installation.error());
  auto python = engine::find_python(asked, *installation);
  if (!python) return std::unexpected(python.error());
  return PythonChild{python->path.string(), environment_with(*installation), *installation};
}

}  // namespace kw::app
