#include "loop/exports/zip_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <utility>

#include "base/core/files.h"

namespace kw::exports {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = std::size_t{1} << 16;
constexpr mode_t member_mode = 0644;

}  // namespace

struct ZipFile::State {
  State(fs::path its_path, NewFile its_file) : path(std::move(its_path)), file(std::move(its_file)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    given_up = true;
    if (archive != nullptr) archive_write_free(archive);
  }

  static la_ssize_t write(struct archive* archive, void* data, const void* bytes, std::size_t size) {
    auto* state = static_cast<State*>(data);
    if (state->given_up) return static_cast<la_ssize_t>(size);
    if (!state->trouble) {
      auto written = state->file.write({static_cast<const char*>(bytes), size});
      if (written) return static_cast<la_ssize_t>(size);
      state->trouble = written.error();
    }
    archive_set_error(archive, EIO, "the file cannot be written");
    return -1;
  }

  std::unexpected<Error> broken() const {
    if (trouble) return std::unexpected(*trouble);
    const char* why = archive_error_string(archive);
    return fail(fmt::format("cannot write {}: {}", path.string(), why ? why : "the archive is broken"));
  }

  Result<> begin(const std::string& name, std::uint64_t size) {
    struct archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, member_mode);
    archive_entry_set_mtime(entry, 0, 0);
    archive_entry_set_size(entry, static_cast<la_int64_t>(size));
    int status = archive_write_header(archive, entry);
    archive_entry_free(entry);
    return status == ARCHIVE_OK ? Result<>() : broken();
  }

  Result<> data(std::string_view bytes) {
    while (!bytes.empty()) {
      la_ssize_t taken = archive_write_data(archive, bytes.data(), bytes.size());
      if (taken <= 0) return broken();
      bytes.remove_prefix(static_cast<std::size_t>(taken));
    }
    return {};
  }

  fs::path path;
  NewFile file;
  struct archive* archive = nullptr;
  std::optional<Error> trouble;  // the first failed write
  // Freeing an archive that was not finished writes its end records: they are dropped. A failed write in
  // their place would make libarchive keep the compressor of an open member.
  bool given_up = false;
};

ZipFile::ZipFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
ZipFile::ZipFile(ZipFile&&) noexcept = default;
ZipFile::~ZipFile() = default;

Result<ZipFile> ZipFile::create(const fs::path& path) {
  auto file = NewFile::create(path);
  if (!file) return std::unexpected(file.error());
  auto state = std::make_unique<State>(path, std::move(*file));
  state->archive = archive_write_new();
  archive_write_set_format_zip(state->archive);
  archive_write_set_format_option(state->archive, "zip", "compression", "deflate");
  archive_write_set_bytes_per_block(state->archive, 0);
  if (archive_write_open(state->archive, state.get(), nullptr, State::write, nullptr) != ARCHIVE_OK)
    return state->broken();
  return ZipFile(std::move(state));
}

Result<> ZipFile::add(const std::string& name, std::string_view bytes) {
  if (auto begun = state_->begin(name, bytes.size()); !begun) return begun;
  return state_->data(bytes);
}

Result<> ZipFile::add_file(const std::string& name, const fs::path& file, std::uint64_t size) {
  if (auto begun = state_->begin(name, size); !begun) return begun;
  std::ifstream bytes(file, std::ios::binary);
  std::string piece(piece_bytes, '\0');
  while (size > 0) {
    auto wanted = static_cast<std::streamsize>(std::min<std::uint64_t>(size, piece.size()));
    if (!bytes.read(piece.data(), wanted)) return fail(fmt::format("cannot read {}", file.string()));
    if (auto written = state_->data({piece.data(), static_cast<std::size_t>(wanted)}); !written)
      return written;
    size -= static_cast<std::uint64_t>(wanted);
  }
  return {};
}

Result<> ZipFile::finish() {
  if (archive_write_close(state_->archive) != ARCHIVE_OK) return state_->broken();
  return state_->file.finish();
}

}  // namespace kw::exports
