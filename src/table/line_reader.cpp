#include "table/line_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace kw {

// False at the end of the file.
Result<bool> LineReader::fill() {
  buffer_.resize(std::size_t{1} << 20);
  at_ = 0;
  while (true) {
    ssize_t n = ::read(fd_.get(), buffer_.data(), buffer_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fmt::format("cannot read {}: {}", name_, errno_text(errno)));
    buffer_.resize(static_cast<std::size_t>(n));
    return n > 0;
  }
}

void LineReader::take(std::string_view piece, Line& line) const {
  if (!line.too_long && line.text.size() + piece.size() > max_bytes_) {
    line.too_long = true;
    line.text = {};
  }
  if (!line.too_long) line.text += piece;
}

Result<std::optional<Line>> LineReader::next() {
  Line line;
  bool any = false;
  while (true) {
    if (at_ == buffer_.size()) {
      auto more = fill();
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
    }
    any = true;
    std::size_t end = buffer_.find('\n', at_);
    take(std::string_view(buffer_).substr(at_, end - at_), line);
    at_ = end == std::string::npos ? buffer_.size() : end + 1;
    if (end != std::string::npos) break;
  }
  if (!any) return std::nullopt;
  line.number = ++number_;
  return line;
}

Result<LineReader> open_lines(const std::string& path, std::size_t max_bytes) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(fmt::format("cannot read {}: {}", path, errno_text(errno)), "check the path");
  struct stat info{};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode))
    return fail(fmt::format("cannot read {}: it is a directory", path), "name a file in it");
  return LineReader(std::move(fd), path, max_bytes);
}

}  // namespace kw
