#include "base/core/standard_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/core/files.h"
#include "base/core/text.h"

namespace kw {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;

Result<Fd> copy_of_standard_input() {
  std::string bytes;
  std::string chunk(1 << 20, '\0');
  while (true) {
    ssize_t n = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fmt::format("cannot read standard input: {}", errno_text(errno)));
    if (n == 0) return memory_file("standard input", bytes);
    bytes.append(chunk, 0, static_cast<std::size_t>(n));
    if (bytes.size() > most_bytes)
      return fail(fmt::format("cannot read standard input: it has more than {} bytes", most_bytes),
                  "write it to a file, and name the file");
  }
}

}  // namespace

Result<std::string> standard_input() {
  // A process has one standard input, which can be read once.
  static const Result<Fd> copy = copy_of_standard_input();
  if (!copy) return std::unexpected(copy.error());
  return fmt::format("/proc/self/fd/{}", copy->get());
}

}  // namespace kw
