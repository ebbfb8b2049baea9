#include "verify/workers/installation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sstream>

namespace kw::engine {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& folder, const char* part) {
  std::error_code ignored;
  return fs::exists(folder / part, ignored);
}

}  // namespace

bool records(const Installation& installation) {
  return !installation.replayer.empty() && !installation.recorder.empty();
}

Result<Installation> find_installation() {
  std::error_code error;
  Installation found;
  found.program = fs::read_symlink("/proc/self/exe", error);
  if (error) return fail("cannot read /proc/self/exe: " + error.message());
  fs::path here = found.program.parent_path();
  for (const fs::path& folder : {here / "native/sandbox", here / "../lib"})
    if (holds(folder, "libkwsandbox.so")) found.native = fs::weakly_canonical(folder);
  if (holds(here, "kernelwright-replayer")) found.replayer = here / "kernelwright-replayer";
  if (holds(found.native, "libkwrecorder.so")) found.recorder = found.native / "libkwrecorder.so";
  for (const fs::path& folder : {here / "../python", here / "wire/python"})
    if (holds(folder, "kernelwright") || holds(folder, "kw"))
      found.python_path.push_back(fs::weakly_canonical(folder));
  if (found.native.empty() || found.python_path.empty())
    return fail(
        fmt::format("the installation at {} is incomplete: libkwsandbox.so or the python package is missing",
                    here.string()),
        "run `make build`, or unpack the tarball anew");
  return found;
}

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

// The newest of the folders FOLDER/PREFIX*: names end with a version.
std::vector<fs::path> newest_first(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(folder, ignored))
    if (each.path().filename().string().starts_with(prefix)) found.push_back(each.path());
  std::ranges::sort(found, std::greater<>());
  return found;
}

}  // namespace

fs::path find_compute_sanitizer() {
  const char* name = "compute-sanitizer";
  if (fs::path path = on_path(name); !path.empty()) return path;
  std::vector<fs::path> places;
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* path = std::getenv(home)) places.push_back(fs::path(path) / "bin");
  places.emplace_back("/usr/local/cuda/bin");
  for (const fs::path& toolkit : newest_first("/usr/local", "cuda-")) places.push_back(toolkit / "bin");
  for (const fs::path& package : newest_first("/opt/nvidia", "")) {
    places.push_back(package);
    places.push_back(package / name);
  }
  for (const fs::path& folder : places)
    if (runs(folder / name)) return folder / name;
  return {};
}

// The program in a toolkit's bin is a script that starts another beside bin.
std::vector<std::string> paths_of_compute_sanitizer(const fs::path& program) {
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  if (error) return {};
  std::vector<std::string> paths{"/etc/hosts", program.string(), real.parent_path().string()};
  if (const fs::path beside = real.parent_path().parent_path() / "compute-sanitizer";
      fs::is_directory(beside, error))
    paths.push_back(beside.string());
  return paths;
}

Result<Python> find_python(const std::string& asked, const Installation& installation) {
  if (!asked.empty()) {
    fs::path path = asked.find('/') == std::string::npos ? on_path(asked) : fs::absolute(asked);
    if (fs::is_directory(path)) path /= "bin/python";
    std::error_code ignored;
    const bool is_there = !path.empty() && fs::exists(path, ignored);
    if (!is_there || !runs(path))
      return fail(
          fmt::format("--python {}: {}", asked, is_there ? "not an executable file" : "no such program"),
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
  return fail("no Python found",
              "name one that has torch and triton with --python, or activate its environment");
}

}  // namespace kw::engine
