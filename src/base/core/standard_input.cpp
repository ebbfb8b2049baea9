#include "base/core/standard_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/core/files.h"
#include "base/core/text.h"

namespace kw {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;
constexpr std::string_view copies = "/proc/self/fd/";

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
  return fmt::format("{}{}", copies, copy->get());
}

std::string shown_path(std::string_view path) {
  return is_standard_input(path) || path.starts_with(copies) ? "standard input" : std::string(path);
}

Error about_standard_input(Error error, std::string_view copy) {
  if (shown_path(copy) == copy) return error;
  for (auto at = error.what.find(copy); at != std::string::npos; at = error.what.find(copy))
    error.what.replace(at, copy.size(), shown_path(copy));
  return error;
}

}  // namespace kw
