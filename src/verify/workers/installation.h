// Paths of this installation's parts, derived from the program's path, both in a build tree and in the
// portable tarball; and the Python with PyTorch and Triton.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace kw::engine {

// Paths of this installation's parts, derived from the program's path, both in a build tree and in the
// portable tarball.
struct Installation {
  std::filesystem::path program;
  std::filesystem::path native;    // holds libkwsandbox.so
  std::filesystem::path replayer;  // empty if it was not built: see records()
  std::filesystem::path recorder;
  std::vector<std::filesystem::path>
      python_path;  // Kernelwright's package, the generated wire code, bundled runtimes
};

// Whether GPU verdicts can be recorded and replayed: both parts are built if CUDA's headers are found.
bool records(const Installation& installation);

Result<Installation> find_installation();

// A program under which a replayer runs, with its first words, and the paths that it reads.
struct Tool {
  std::vector<std::string> words;
  std::vector<std::string> readable = {};
};

// NVIDIA's compute-sanitizer: of PATH, $CUDA_HOME, a CUDA toolkit in /usr/local, or /opt/nvidia. Empty: it is
// not installed.
std::filesystem::path find_compute_sanitizer();
// The paths of its installation beside those that every sandbox shows.
std::vector<std::string> paths_of_compute_sanitizer(const std::filesystem::path& program);

// Finds the Python with PyTorch and Triton.
struct Python {
  std::filesystem::path path;
  std::string chosen_by;  // "--python", "VIRTUAL_ENV", ".venv", "PATH"
};

// `asked`, else $VIRTUAL_ENV, else the .venv beside the build folder, else python3 on PATH.
Result<Python> find_python(const std::string& asked, const Installation& installation);

}  // namespace kw::engine
