#include "verify/workers/installation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
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

}  // namespace

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
  return fail("no Python found", "run `make demo`, or name one that has torch and triton with --python");
}

}  // namespace kw::engine
