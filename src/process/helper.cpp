#include "process/helper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace kw::process {

Result<> Helper::finish() {
  if (child_.pid() < 0) return {};
  const int status = child_.wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string why = to_utf8(last_line(errors_));
  if (!why.empty()) return fail(why);
  if (WIFSIGNALED(status)) return fail(fmt::format("the helper was ended by signal {}", WTERMSIG(status)));
  return fail(fmt::format("the helper ended with status {}", WEXITSTATUS(status)));
}

Result<std::pair<Fd, Fd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("cannot make a pipe: {}", errno_text(errno)));
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

Result<Fd> errors_file() {
  Fd errors(::memfd_create("helper-errors", MFD_CLOEXEC));
  if (!errors) return fail(fmt::format("cannot create a memory file: {}", errno_text(errno)));
  return errors;
}

std::string last_line(const Fd& errors) {
  auto bytes = read_memory_file(errors, std::size_t{64} << 20);
  if (!bytes) return {};
  std::string_view text = trim(*bytes);
  return std::string(text.substr(text.rfind('\n') + 1));
}

Result<std::pair<Helper, Fd>> start_helper(const std::vector<std::string>& argv, HelperErrors where) {
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  auto errors = errors_file();
  if (!errors) return std::unexpected(errors.error());
  auto child = Child::start({.arguments = argv,
                             .output = pipe->second.get(),
                             .errors = where == HelperErrors::kept ? errors->get() : STDERR_FILENO,
                             .own_group = false});
  if (!child) return fail(child.error().what, "give a Python with --python");
  return std::pair(Helper(std::move(*child), std::move(*errors)), std::move(pipe->first));
}

}  // namespace kw::process
