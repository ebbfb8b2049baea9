#include "training/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <boost/json/serialize.hpp>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"
#include "recipe/files.h"
#include "training/earlier.h"

namespace kw::training {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& folder, const char* name) {
  std::error_code ignored;
  return fs::exists(folder / name, ignored);
}

bool has_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with("checkpoint-")) return true;
  return false;
}

bool has_results(const fs::path& folder) {
  return holds(folder, "adapter_model.safetensors") || holds(folder, "adapter_config.json") ||
         has_checkpoint(folder);
}

// Nobody else is at work there.
Result<> check_free(const fs::path& folder) {
  Fd fd(::open((folder / output_file).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return {};
  return fail(fmt::format("another training is at work in {}", folder.string()),
              "wait for its end, or give another --output");
}

// Of ours, or with nothing in it.
Result<> check_owner(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return fail(fmt::format("--output {} is no folder", folder.string()), "give a folder's name");
  if (fs::is_empty(folder, error) || holds(folder, job_file)) return {};
  if (error) return fail(fmt::format("cannot look into {}: {}", folder.string(), error.message()));
  return fail(fmt::format("--output {} holds things that no training of ours wrote", folder.string()),
              "give the name of a new folder");
}

}  // namespace

Result<> check_output(const Job& job, Start start) {
  fs::path folder(job.output);
  std::error_code error;
  if (!fs::exists(folder, error)) return {};
  if (auto ours = check_owner(folder); !ours) return ours;
  if (auto free = check_free(folder); !free) return free;
  if (start == Start::anew && has_results(folder))
    return fail(fmt::format("{} holds an adapter or checkpoints", job.output),
                "--resume goes on with it, --fresh sets it aside, or give another --output");
  if (start == Start::resume && has_results(folder)) return check_same(job);
  return {};
}

Result<> prepare_output(const Job& job, Start start) {
  fs::path folder(job.output);
  std::error_code error;
  if (start == Start::fresh && fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    int number = 1;
    auto aside = [&] { return fs::path(fmt::format("{}.{}", job.output, number)); };
    while (fs::exists(aside(), error)) ++number;
    fs::rename(folder, aside(), error);
    if (error)
      return fail(fmt::format("cannot rename {} to {}: {}", job.output, aside().string(), error.message()),
                  "give another --output");
  }
  fs::create_directories(folder, error);
  if (error)
    return fail(fmt::format("cannot make the folder {}: {}", job.output, error.message()),
                "give an --output where you may write");
  if (auto written = write_file(folder / recipe_file, recipe::to_toml(job.recipe)); !written) return written;
  return write_file(folder / job_file, boost::json::serialize(to_json(job)) + "\n");
}

Result<Fd> open_output_file(const fs::path& folder) {
  fs::path path = folder / output_file;
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(fmt::format("another training is at work in {}", folder.string()),
                "wait for its end, or give another --output");
  return fd;
}

}  // namespace kw::training
