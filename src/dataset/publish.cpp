#include "dataset/publish.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <vector>

#include "base/text.h"

namespace kw::dataset {
namespace fs = std::filesystem;

Staging::Staging(fs::path target) : target_(std::move(target)), folder_(target_ / ".new") {}

Staging::~Staging() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Result<> Staging::make() {
  std::error_code error;
  fs::remove_all(folder_, error);
  fs::create_directories(folder_, error);
  if (error) return fail(fmt::format("cannot make {}: {}", folder_.string(), error.message()));
  return {};
}

Result<> Staging::publish() {
  // What an earlier build made and this one did not would be taken for a part of this one.
  static constexpr const char* made[] = {"data", "figs", "tokenizer.json"};
  std::error_code error;
  for (const char* name : made) fs::remove_all(target_ / name, error);
  for (const char* kind : {"fim", "cu2triton", "torch2triton", "trace"})
    for (const char* end :
         {".jsonl", "_sft.csv", "_sft.meta.jsonl", "_sft_validation.csv", "_sft_validation.meta.jsonl"})
      fs::remove(target_ / (std::string(kind) + end), error);
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder_, error)) entries.push_back(entry.path());
  for (const fs::path& entry : entries) {
    fs::rename(entry, target_ / entry.filename(), error);
    if (error) return fail(fmt::format("cannot move {} into place: {}", entry.string(), error.message()));
  }
  return {};
}

Result<StateLock> StateLock::take(const fs::path& state) {
  std::error_code error;
  fs::create_directories(state, error);
  fs::path path = state / "lock";
  Fd fd(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot make {}: {}", path.string(), errno_text(errno)));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(fmt::format("another build uses {}", state.string()),
                "wait for it, or choose another --state");
  return StateLock(std::move(fd));
}

}  // namespace kw::dataset
