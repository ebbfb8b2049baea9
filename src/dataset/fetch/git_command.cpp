#include "dataset/fetch/git_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/process/child.h"

namespace kw::fetch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int poll_ms = 100;
constexpr std::size_t max_cause_bytes = 400;
constexpr std::uint64_t max_output_bytes = std::uint64_t{256} << 20, max_error_bytes = std::uint64_t{4} << 20;

// The configuration of the user and of the system is not read. A git before 2.32 knows no
// GIT_CONFIG_GLOBAL: the settings that would run a program are also overridden one by one.
constexpr std::array settings_of_every_call{
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.eol=lf",
    "core.askPass=",
    "credential.helper=",
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=no",
    "submodule.recurse=false",
    "advice.detachedHead=false",
};

bool is_kept(std::string_view variable) {
  for (std::string_view name : {"GIT_SSL_CAINFO=", "GIT_SSL_CAPATH=", "GIT_PROXY_SSL_CAINFO="})
    if (variable.starts_with(name)) return true;
  for (std::string_view name : {"GIT_", "SSH_ASKPASS", "LC_", "LANG="})
    if (variable.starts_with(name)) return false;
  return true;
}

std::vector<std::string> environment_for(const GitSettings& settings) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (is_kept(*variable)) all.emplace_back(*variable);
  all.insert(all.end(), {"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
                         "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1",
                         "GIT_OPTIONAL_LOCKS=0", "GIT_SSH_COMMAND=ssh -oBatchMode=yes",
                         // The folder may lie in a repository, whose configuration is not read either.
                         "GIT_CEILING_DIRECTORIES=" + settings.folder.parent_path().string(),
                         settings.is_local ? "GIT_ALLOW_PROTOCOL=file" : "GIT_ALLOW_PROTOCOL=https:ssh"});
  return all;
}

// Of the files; a file that git removes meanwhile counts as 0.
std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone) || at->is_symlink(gone)) continue;
    const std::uint64_t bytes = at->file_size(gone);
    if (!gone) sum += bytes;
  }
  return sum;
}

std::uint64_t bytes_of(const Fd& memory_file) {
  struct stat info{};
  return ::fstat(memory_file.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

// The lines up to the first fatal one: ssh states its cause before it, and git adds advice behind it.
std::string cause_of(const Fd& errors, int status) {
  const std::string text = read_memory_file(errors, max_output_bytes).value_or("");
  std::string cause;
  for (std::size_t from = 0; from < text.size() && cause.size() < max_cause_bytes;) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string_view line = trim(std::string_view(text).substr(from, end - from));
    from = end + 1;
    const bool is_fatal = line.starts_with("fatal: ");
    for (std::string_view prefix : {"fatal: ", "error: "})
      if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    if (!line.empty()) cause += (cause.empty() ? "" : "; ") + to_plain_text(line.substr(0, max_cause_bytes));
    if (is_fatal) break;
  }
  if (!cause.empty()) return cause;
  return WIFEXITED(status) ? fmt::format("git ended with status {}", WEXITSTATUS(status))
                           : fmt::format("git was ended by signal {}", WTERMSIG(status));
}

}  // namespace

Git::Git(GitSettings settings)
    : settings_(std::move(settings)),
      deadline_(Clock::now() + settings_.limits.time),
      environment_(environment_for(settings_)) {}

Result<> Git::check() const {
  if (settings_.stop && settings_.stop()) return fail("interrupted");
  if (Clock::now() >= deadline_)
    return fail(fmt::format("it takes more than {} s", settings_.limits.time.count()));
  if (bytes_in(settings_.folder) > settings_.limits.bytes)
    return fail(fmt::format("it has more than {} bytes", settings_.limits.bytes));
  return {};
}

Result<std::string> Git::run(const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv{"git", "-C", settings_.folder.string()};
  for (const char* setting : settings_of_every_call) argv.insert(argv.end(), {"-c", setting});
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto output = process::errors_file();
  auto errors = process::errors_file();
  if (!output || !errors) return std::unexpected(output ? errors.error() : output.error());
  auto child = process::Child::start(
      {.arguments = argv, .environment = environment_, .output = output->get(), .errors = errors->get()});
  if (!child) return fail(child.error().what, "install git, or give the path of a checkout");
  const Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, child->pid(), 0)));
  if (!ended) return fail(fmt::format("cannot watch git: {}", errno_text(errno)));
  // An early return kills git and its group.
  for (int ready = 0; ready == 0;) {
    if (auto checked = check(); !checked) return std::unexpected(checked.error());
    if (bytes_of(*output) > max_output_bytes || bytes_of(*errors) > max_error_bytes)
      return fail("git prints too much: the repository has too many files, branches or tags");
    pollfd watched{.fd = ended.get(), .events = POLLIN, .revents = 0};
    ready = ::poll(&watched, 1, poll_ms);
    if (ready < 0 && errno == EINTR) ready = 0;
  }
  const int status = child->wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail(cause_of(*errors, status));
  if (bytes_in(settings_.folder) > settings_.limits.bytes)
    return fail(fmt::format("it has more than {} bytes", settings_.limits.bytes));
  return read_memory_file(*output, max_output_bytes);
}

}  // namespace kw::fetch
