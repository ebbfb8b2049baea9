#include "report/page/chunks.h"

#include <fmt/format.h>
#include <zlib.h>

#include <boost/json/serialize.hpp>
#include <cerrno>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "base/rows/rows_indexed.h"

namespace kw::report {
namespace {

constexpr const char* when_full = "free some space, or set TMPDIR to another folder";

Result<> store(const Fd& file, std::string_view bytes) {
  if (write_all(file.get(), bytes)) return {};
  return fail(fmt::format("cannot write the temporary file of the report: {}", errno_text(errno)), when_full);
}

Result<> load(const Fd& file, std::uint64_t at, std::string& bytes) {
  auto filled = read_at(file.get(), at, bytes);
  if (filled == bytes.size()) return {};
  return fail(fmt::format("cannot read the temporary file of the report: {}",
                          filled ? "it is too short" : errno_text(errno)));
}

}  // namespace

Result<std::string> deflated(std::string_view bytes) {
  uLongf size = ::compressBound(bytes.size());
  std::string stored(size, '\0');
  int code = ::compress2(reinterpret_cast<Bytef*>(stored.data()), &size,
                         reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_DEFAULT_COMPRESSION);
  if (code != Z_OK) return fail(fmt::format("zlib cannot compress {} bytes (code {})", bytes.size(), code));
  stored.resize(size);
  return stored;
}

Result<ChunkPacker> ChunkPacker::create(const std::filesystem::path& folder, std::size_t chunk_bytes) {
  auto file = table::nameless_file(folder);
  if (!file) return std::unexpected(file.error());
  return ChunkPacker(std::move(*file), chunk_bytes);
}

Result<DetailPlace> ChunkPacker::add(const boost::json::object& detail) {
  std::string line = boost::json::serialize(detail);
  if (!open_.empty() && open_.size() + line.size() + 1 > chunk_bytes_)
    if (auto closed = close(); !closed) return std::unexpected(closed.error());
  DetailPlace place{chunks_.size(), open_.size(), line.size()};
  open_ += line;
  open_ += '\n';
  return place;
}

Result<> ChunkPacker::finish() {
  return open_.empty() ? Result<>() : close();
}

Result<> ChunkPacker::close() {
  auto stored = deflated(open_);
  if (!stored) return std::unexpected(stored.error());
  if (auto written = store(file_, *stored); !written) return written;
  chunks_.push_back({open_.size(), sha256_hex(open_), stored_bytes_, stored->size()});
  stored_bytes_ += stored->size();
  raw_bytes_ += open_.size();
  open_.clear();
  return {};
}

Result<> ChunkPacker::each(const std::function<Result<>(std::size_t, std::string_view)>& use) const {
  std::string stored;
  for (std::size_t number = 0; number < chunks_.size(); ++number) {
    stored.resize(chunks_[number].stored_bytes);
    if (auto read = load(file_, chunks_[number].at, stored); !read) return read;
    if (auto used = use(number, stored); !used) return used;
  }
  return {};
}

}  // namespace kw::report
