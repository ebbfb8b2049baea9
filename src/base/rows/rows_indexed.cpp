#include "base/rows/rows_indexed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/core/text.h"

namespace kw::table {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::size_t newline_bytes = 2;

Result<> lay_out(int fd, std::string_view bytes, const std::string& name) {
  if (write_all(fd, bytes)) return {};
  return fail(fmt::format("cannot lay out the rows of {}: {}", name, errno_text(errno)),
              "free some space, or name another folder for temporary files");
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

// Moves the current record to the front of the buffer; doubles the buffer if the record fills it.
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
      if (auto copied = lay_out(source_.copy, got, source_.name); !copied)
        return std::unexpected(copied.error());
    filled_ += got.size();
    return n > 0;
  }
}

RawRecord RecordReader::cut(std::size_t end, bool too_long) {
  RawRecord record;
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

Result<std::optional<RawRecord>> RecordReader::next() {
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

namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "\xEF\xBB\xBF";

Result<> load(int fd, std::uint64_t offset, std::string& bytes, const std::string& name) {
  auto done = read_at(fd, offset, bytes);
  if (!done) return fail(fmt::format("cannot read {}: {}", name, errno_text(errno)));
  if (*done < bytes.size())
    return fail(fmt::format("{} has become shorter since it was read", name), "leave the file as it is");
  return {};
}

}  // namespace

Result<TextFile> open_text(const std::string& path) {
  // O_NONBLOCK: opening a pipe would wait for its writer.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail(fmt::format("cannot read {}: {}", path, errno_text(errno)), "check the path");
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail(fmt::format("cannot read {}: {}", path, errno_text(errno)));
  if (S_ISDIR(info.st_mode))
    return fail(fmt::format("cannot read {}: it is a directory", path), "name a file in it");
  if (!S_ISREG(info.st_mode))
    return fail(fmt::format("cannot read {}: it is no regular file", path),
                "rows are read twice: write them to a file");
  TextFile file{std::move(fd), 0, static_cast<std::uint64_t>(info.st_size)};
  if (file.size >= mark.size()) {
    std::string first(mark.size(), '\0');
    if (auto got = load(file.fd.get(), 0, first, path); !got) return std::unexpected(got.error());
    if (first == mark) file.begin = mark.size();
  }
  ::lseek(file.fd.get(), static_cast<off_t>(file.begin), SEEK_SET);
  return file;
}

Result<Fd> nameless_file(const fs::path& folder) {
  std::error_code error;
  fs::path where = folder.empty() ? fs::temp_directory_path(error) : folder;
  if (!error) fs::create_directories(where, error);
  std::string name = (where / "rows.XXXXXX").string();
  Fd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd)
    return fail(fmt::format("cannot write in {}: {}", where.string(), errno_text(errno)),
                "name another folder for temporary files");
  ::unlink(name.c_str());
  return fd;
}

bool is_text(std::string_view bytes) {
  constexpr std::uint64_t high_bits = 0x8080808080808080U;
  const char* at = bytes.data();
  const char* end = at + bytes.size();
  while (at < end) {
    std::uint64_t words[4];
    if (end - at >= 32) {
      std::memcpy(words, at, sizeof words);
      if (((words[0] | words[1] | words[2] | words[3]) & high_bits) == 0) {
        at += 32;
        continue;
      }
    }
    while (at < end && static_cast<unsigned char>(*at) < 0x80) ++at;
    // A run of bytes beyond ASCII: a sequence cannot continue after an ASCII byte.
    const char* first = at;
    while (at < end && static_cast<unsigned char>(*at) >= 0x80) ++at;
    if (!is_utf8({first, static_cast<std::size_t>(at - first)})) return false;
  }
  return true;
}

RowError IndexedRows::bad(const RawRecord& record, const Error& error) const {
  return RowError{name_, record.number - header_, error.what, error.remedy};
}

Result<std::optional<TextRowOrError>> IndexedRows::next() {
  while (true) {
    auto record = reader_->next();
    if (!record) return std::unexpected(record.error());
    if (!*record) {
      if (auto end = at_end(); !end) return std::unexpected(end.error());
      return std::nullopt;
    }
    const RawRecord& found = **record;
    if (found.too_long)
      return bad(found, {fmt::format("over {} bytes, more than a row may have", longest_),
                         "split it, or leave it out"});
    if (found.text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto row = parse(found.text, scratch_);
    if (!row) return bad(found, row.error());
    offsets_.push_back(found.offset);
    lengths_.push_back(static_cast<std::uint32_t>(found.text.size()));
    return std::move(*row);
  }
}

Result<std::string> IndexedRows::raw(std::uint64_t number) const {
  if (number >= offsets_.size())
    return fail(fmt::format("{} has {} good rows; there is no number {}", name_, offsets_.size(), number));
  std::string text(lengths_[number], '\0');
  if (auto got = load(fd_.get(), offsets_[number], text, name_); !got) return std::unexpected(got.error());
  return text;
}

Result<TextRow> IndexedRows::at(std::uint64_t number) const {
  auto text = raw(number);
  if (!text) return std::unexpected(text.error());
  Scratch scratch;
  auto row = parse(*text, scratch);
  if (!row)
    return fail(fmt::format("{} has changed since it was read: {}", name_, row.error().what),
                "leave the file as it is");
  return row;
}

}  // namespace kw::table
