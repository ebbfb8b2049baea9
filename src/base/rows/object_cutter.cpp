#include "base/rows/object_cutter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/core/text.h"

namespace kw {

Result<std::string> ObjectCutter::next() {
  std::string object;
  while (true) {
    if (at_ == chunk_.size()) {
      auto more = fill();
      if (!more) return std::unexpected(more.error());
      if (!*more)
        return object.empty() ? Result<std::string>(object) : fail("the file ends inside an object");
    }
    char c = chunk_[at_++];
    if (depth_ == 0 && c != '{') {
      if (std::string_view(" \t\r\n,[]").find(c) == std::string_view::npos)
        return fail("the file contains values that are not objects");
      if (c == '[' || c == ']') in_list_ = c == '[';
      continue;
    }
    if (depth_ == 0) offset_ = chunk_offset_ + at_ - 1;
    object += c;
    if (ends(c)) return object;
    if (object.size() > most_bytes_) return fail(fmt::format("an object is over {} bytes", most_bytes_));
  }
}

// Tracks strings and braces; true at the closing brace of an outermost object.
bool ObjectCutter::ends(char c) {
  if (in_string_) {
    if (escaped_)
      escaped_ = false;
    else if (c == '\\')
      escaped_ = true;
    else if (c == '"')
      in_string_ = false;
    return false;
  }
  if (c == '"') in_string_ = true;
  if (c == '{') ++depth_;
  return c == '}' && --depth_ == 0;
}

Result<bool> ObjectCutter::fill() {
  chunk_offset_ += chunk_.size();
  chunk_.resize(std::size_t{1} << 16);
  ssize_t n = 0;
  do n = ::read(fd_.get(), chunk_.data(), chunk_.size());
  while (n < 0 && errno == EINTR);
  chunk_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  at_ = 0;
  if (n < 0) return fail(errno_text(errno));
  return n > 0;
}

}  // namespace kw
