#include "dataset/collect/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/core/files.h"
#include "base/core/text.h"

namespace kw::collect {
namespace {

constexpr std::size_t max_path_bytes = 4'096;

bool has_control(std::string_view name) {
  return std::any_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

bool has_drive(std::string_view name) {
  return name.size() > 1 && name[1] == ':' && ((name[0] | 0x20) >= 'a' && (name[0] | 0x20) <= 'z');
}

SafePath refused(std::string reason) {
  return {.path = {}, .reason = std::move(reason)};
}

}  // namespace

SafePath safe_path(std::string_view name) {
  if (name.empty() || name.size() > max_path_bytes || has_control(name) || !is_utf8(name))
    return refused("bad name");
  if (name.front() == '/' || has_drive(name) || name.find('\\') != std::string_view::npos)
    return refused("leads outside");
  SafePath safe;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (part == "..") return refused("leads outside");
    if (part.empty() || part == ".") continue;
    if (!safe.path.empty()) safe.path += '/';
    safe.path += part;
  }
  return safe.path.empty() ? refused("bad name") : safe;
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const auto failed = [&](int error) {
    return fail(fmt::format("cannot read {}: {}", path, errno_text(error)),
                "give the path of a readable file");
  };
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return failed(errno);
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return failed(errno);
  if (!S_ISREG(info.st_mode))
    return fail(fmt::format("{} is no file", path), "give a folder, a checkout or an archive");
  if (info.st_size == 0) return MappedFile(nullptr, 0);
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return failed(errno);
  return MappedFile(static_cast<const char*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

namespace {

struct archive* handle(void* archive) {
  return static_cast<struct archive*>(archive);
}

// libarchive converts names by the thread's locale. The default locale converts ASCII only.
class Utf8Locale {
 public:
  Utf8Locale() : before_(utf8() == nullptr ? nullptr : uselocale(utf8())) {}
  ~Utf8Locale() {
    if (before_ != nullptr) uselocale(before_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  static locale_t utf8() {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }
  locale_t before_;
};

std::string message(struct archive* archive) {
  const char* text = archive_error_string(archive);
  return text == nullptr ? "it is damaged" : to_plain_text(text);
}

Entry::Kind kind_of(struct archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_hardlink_utf8(entry) != nullptr)
    return Entry::Kind::link;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
    case 0:  // some zip files state no type
      return Entry::Kind::file;
    case AE_IFDIR:
      return Entry::Kind::folder;
    case AE_IFLNK:
      return Entry::Kind::link;
    default:
      return Entry::Kind::special;
  }
}

// The name in UTF-8 if it can be converted; else its bytes, which safe_path() rejects.
std::string name_of(struct archive_entry* entry) {
  if (const char* text = archive_entry_pathname_utf8(entry)) return text;
  if (const char* bytes = archive_entry_pathname(entry)) return bytes;
  return {};
}

Entry described_entry(struct archive* archive, struct archive_entry* from) {
  Entry entry;
  entry.name = name_of(from);
  entry.kind = kind_of(from);
  if (archive_entry_size_is_set(from) != 0)
    entry.size = static_cast<std::uint64_t>(std::max<la_int64_t>(archive_entry_size(from), 0));
  entry.encrypted = archive_entry_is_encrypted(from) != 0;
  const bool zip = (archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP;
  entry.streamed = !zip && archive_entry_sparse_count(from) == 0;
  return entry;
}

}  // namespace

void Archive::Close::operator()(void* archive) const {
  archive_read_free(handle(archive));
}

Result<Archive> Archive::open(std::string_view bytes) {
  std::unique_ptr<void, Close> owner(archive_read_new());
  if (!owner) return fail("no memory for an archive");
  struct archive* archive = handle(owner.get());
  archive_read_support_filter_none(archive);
  archive_read_support_filter_gzip(archive);
  archive_read_support_filter_bzip2(archive);
  archive_read_support_filter_xz(archive);
  archive_read_support_filter_zstd(archive);
  archive_read_support_format_tar(archive);
  archive_read_support_format_zip(archive);
  if (archive_read_open_memory(archive, bytes.data(), bytes.size()) != ARCHIVE_OK)
    return fail(fmt::format("cannot be read as an archive: {}", message(archive)),
                "give a zip, a wheel, or a tar under gzip, bzip2, xz or zstd");
  return Archive(std::move(owner));
}

Result<std::optional<Entry>> Archive::next() {
  const Utf8Locale utf8;
  struct archive* archive = handle(archive_.get());
  for (int tries = 0; tries < 100; ++tries) {
    struct archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive, &entry);
    if (status == ARCHIVE_EOF) return std::nullopt;
    if (status == ARCHIVE_RETRY) continue;
    if (status == ARCHIVE_OK || status == ARCHIVE_WARN) return described_entry(archive, entry);
    break;
  }
  return fail(message(archive));
}

Unpacked Archive::read(std::uint64_t max_bytes) {
  struct archive* archive = handle(archive_.get());
  Unpacked unpacked;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const la_ssize_t got = archive_read_data(archive, buffer.data(), buffer.size());
    if (got == 0) return unpacked;
    if (got == ARCHIVE_RETRY) continue;
    if (got < 0) {
      unpacked.status = Unpacked::Status::damaged;
      unpacked.detail = message(archive);
      return unpacked;
    }
    unpacked.bytes.append(buffer.data(), static_cast<std::size_t>(got));
    if (unpacked.bytes.size() > max_bytes) {
      unpacked.status = Unpacked::Status::too_large;
      return unpacked;
    }
  }
}

bool is_archive_name(std::string_view path) {
  constexpr std::array<std::string_view, 11> ends{".whl",    ".zip", ".tar",  ".tar.gz",  ".tgz", ".tar.bz2",
                                                  ".tar.xz", ".txz", ".tbz2", ".tar.zst", ".egg"};
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return path.ends_with(end); });
}

}  // namespace kw::collect
