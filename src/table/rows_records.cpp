#include "table/rows_records.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace kw::table {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::size_t newline_bytes = 2;

Result<> write_all(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return fail(fmt::format("cannot lay out the rows of {}: {}", name, errno_text(errno)),
                  "free some space, or name another folder for temporary files");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

std::string_view without_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::size_t LineCutter::end_of_record(std::string_view piece) {
  std::size_t at = piece.find('\n');
  return at == std::string_view::npos ? at : at + 1;
}

// The record that is being read moves to the front; it gets twice the room when it fills all there is.
void RecordReader::make_room() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, filled_ - begin_);
    offset_ += begin_;
    filled_ -= begin_;
    begin_ = 0;
  }
  if (capacity_ - filled_ >= block_bytes / 2) return;
  capacity_ = std::max(2 * capacity_, 2 * block_bytes);
  capacity_ =
      std::min(capacity_, std::max(filled_, static_cast<std::size_t>(source_.max_bytes)) + 2 * block_bytes);
  auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
  if (filled_ > 0) std::memcpy(larger.get(), buffer_.get(), filled_);
  buffer_ = std::move(larger);
}

// False at the end of the file.
Result<bool> RecordReader::fill() {
  make_room();
  while (true) {
    std::size_t room = std::min(capacity_ - filled_, block_bytes);
    ssize_t n = ::read(source_.fd, buffer_.get() + filled_, room);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fmt::format("cannot read {}: {}", source_.name, errno_text(errno)));
    std::string_view got(buffer_.get() + filled_, static_cast<std::size_t>(n));
    if (source_.copy >= 0)
      if (auto copied = write_all(source_.copy, got, source_.name); !copied)
        return std::unexpected(copied.error());
    filled_ += got.size();
    return n > 0;
  }
}

Record RecordReader::cut(std::size_t end, bool too_long) {
  Record record;
  record.number = ++number_;
  record.offset = offset_ + begin_ - dropped_;
  std::string_view text = without_newline({buffer_.get() + begin_, end - begin_});
  record.too_long = too_long || text.size() > source_.max_bytes;
  if (!record.too_long) record.text = text;
  begin_ = end;
  dropped_ = 0;
  cutter_->restart();
  return record;
}

Result<std::optional<Record>> RecordReader::next() {
  std::size_t seen = begin_;
  bool too_long = false;
  while (true) {
    std::size_t end = cutter_->end_of_record({buffer_.get() + seen, filled_ - seen});
    if (end != std::string_view::npos) return cut(seen + end, too_long);
    too_long = too_long || filled_ - begin_ > source_.max_bytes + newline_bytes;
    if (too_long) {
      dropped_ += filled_ - begin_;
      begin_ = filled_;
    }
    std::size_t kept = filled_ - begin_;
    auto more = fill();
    if (!more) return std::unexpected(more.error());
    if (!*more) {
      if (begin_ == filled_ && !too_long) return std::nullopt;
      return cut(filled_, too_long);
    }
    seen = begin_ + kept;
  }
}

}  // namespace kw::table
