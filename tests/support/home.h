// The paths of the project's files and a Python: the build's own, or those of a package of tests, which
// is run from its folder on another machine.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace kw {

inline std::string source_file(const std::string& name) {
  std::string path = KW_SOURCE_DIR "/" + name;
  return std::filesystem::exists(path) ? path : std::filesystem::absolute(name).string();
}

inline std::string test_python() {
  if (const char* given = std::getenv("KW_PYTHON")) return given;
  return std::filesystem::exists(KW_TEST_PYTHON) ? KW_TEST_PYTHON : "python3";
}

inline bool python_has(const std::string& module) {
  return std::system(("\"" + test_python() + "\" -c 'import " + module + "' 2>/dev/null").c_str()) == 0;
}

// The recorded completions, which are not part of the project.
inline std::string recorded_file(const std::string& name) {
  const char* folder = std::getenv("KERNELWRIGHT_RECORDED");
  return (folder ? std::string(folder) : KW_SOURCE_DIR "/../shared/data") + "/" + name;
}

}  // namespace kw
