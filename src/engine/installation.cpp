#include "engine/installation.h"

#include <fmt/format.h>

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
  for (const fs::path& folder : {here / "native/confine", here / "../lib"})
    if (holds(folder, "libkwconfine.so")) found.native = fs::weakly_canonical(folder);
  if (holds(here, "kernelwright-replayer")) found.replayer = here / "kernelwright-replayer";
  if (holds(found.native, "libkwrecorder.so")) found.recorder = found.native / "libkwrecorder.so";
  for (const fs::path& folder : {here / "../python", here / "wire/python"})
    if (holds(folder, "kernelwright") || holds(folder, "kw"))
      found.python_path.push_back(fs::weakly_canonical(folder));
  if (found.native.empty() || found.python_path.empty())
    return fail(
        fmt::format("the installation at {} is incomplete: libkwconfine.so or the python package is missing",
                    here.string()),
        "run `make build`, or unpack the tarball anew");
  return found;
}

}  // namespace kw::engine
