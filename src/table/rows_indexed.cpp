#include "table/rows_indexed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace kw::table {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "\xEF\xBB\xBF";

Result<> read_at(int fd, std::uint64_t offset, std::string& bytes, const std::string& name) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fmt::format("cannot read {}: {}", name, errno_text(errno)));
    if (n == 0)
      return fail(fmt::format("{} has become shorter since it was read", name), "leave the file as it is");
    done += static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace

Result<TextFile> open_text(const std::string& path) {
  // A pipe would keep us waiting here for who writes it.
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
    if (auto got = read_at(file.fd.get(), 0, first, path); !got) return std::unexpected(got.error());
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
    // ASCII ends a sequence, whole or not.
    const char* first = at;
    while (at < end && static_cast<unsigned char>(*at) >= 0x80) ++at;
    if (!is_utf8({first, static_cast<std::size_t>(at - first)})) return false;
  }
  return true;
}

RowError IndexedRows::bad(const Record& record, const Error& error) const {
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
    const Record& found = **record;
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
  if (auto got = read_at(fd_.get(), offsets_[number], text, name_); !got) return std::unexpected(got.error());
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
