#include "near/band_table.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "near/io.h"

namespace kw::near {
namespace {

constexpr std::size_t texts_at_once = 4096;

// Never 0, which stands for a band that was forgotten.
std::uint32_t hash_of(std::span<const std::uint32_t> values) {
  std::uint64_t hash = values.size();
  for (std::uint32_t value : values) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  auto low = static_cast<std::uint32_t>(hash);
  return low != 0 ? low : 1;
}

Result<Fd> nameless_file(const std::filesystem::path& folder) {
  Fd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) return fd;
  std::string name = (folder / ".bands.XXXXXX").string();
  fd.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd)
    return fail(fmt::format("cannot make a temporary file in {}: {}", folder.string(), errno_text(errno)));
  ::unlink(name.c_str());
  return fd;
}

std::unexpected<Error> failed(std::string_view verb) {
  return fail(fmt::format("cannot {} the temporary file of band hashes: {}", verb, errno_text(errno)),
              errno == ENOSPC ? "make room on the disk, or give more memory" : "");
}

// By hash alone, least digit first; entries of one hash keep their order, which is that of their numbers.
void sort_by_hash(std::vector<Entry>& entries) {
  std::vector<Entry> other(entries.size());
  for (unsigned shift = 32; shift < 64; shift += 8) {
    std::array<std::size_t, 257> starts{};
    for (Entry entry : entries) ++starts[((entry.value >> shift) & 255) + 1];
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    for (Entry entry : entries) other[starts[(entry.value >> shift) & 255]++] = entry;
    entries.swap(other);
  }
}

}  // namespace

Result<BandTable> BandTable::make(const SketchFile& sketches, std::uint64_t max_bytes) {
  BandTable table;
  const Parameters& parameters = sketches.parameters();
  table.count_ = sketches.count();
  table.bands_ = parameters.bands;
  if (table.place(table.count_) * sizeof(std::uint32_t) <= max_bytes) {
    table.hashes_.resize(table.place(table.count_));
  } else {
    auto folder = sketches.path().parent_path();
    auto file = nameless_file(folder.empty() ? "." : folder);
    if (!file) return std::unexpected(file.error());
    table.file_ = std::move(*file);
  }
  auto added =
      sketches.each_block([&](const SketchFile::Block& block) { return table.add(block, parameters); });
  if (!added) return std::unexpected(added.error());
  return table;
}

Result<> BandTable::add(const SketchFile::Block& block, const Parameters& parameters) {
  std::vector<std::uint32_t> hashes(block.texts * bands_);
  std::size_t rows = parameters.rows;
  for (std::size_t band = 0; band < bands_; ++band)
    for (std::size_t text = 0; text < block.texts; ++text)
      hashes[text * bands_ + band] = hash_of(block.values.subspan((band * block.texts + text) * rows, rows));
  std::uint64_t at = place(block.first);
  if (!file_)
    std::ranges::copy(hashes, hashes_.begin() + static_cast<std::ptrdiff_t>(at));
  else if (!write_at(file_, hashes.data(), hashes.size() * sizeof hashes[0], at * sizeof hashes[0]))
    return failed("write");
  return {};
}

Result<std::vector<Entry>> BandTable::sorted(unsigned band) const {
  std::vector<Entry> entries(count_);
  std::vector<std::uint32_t> some;
  for (std::uint32_t first = 0; first < count_;) {
    std::size_t texts = std::min<std::size_t>(texts_at_once, count_ - first);
    const std::uint32_t* hashes = hashes_.data() + (file_ ? 0 : place(first));
    if (file_) {
      some.resize(texts * bands_);
      if (!read_at(file_, some.data(), some.size() * sizeof some[0], place(first) * sizeof some[0]))
        return failed("read");
      hashes = some.data();
    }
    for (std::size_t i = 0; i < texts; ++i)
      entries[first + i].value = std::uint64_t{hashes[i * bands_ + band]} << 32 | (first + i);
    first += static_cast<std::uint32_t>(texts);
  }
  sort_by_hash(entries);
  return entries;
}

Result<bool> BandTable::share_before(unsigned band, std::uint32_t a, std::uint32_t b) const {
  std::vector<std::uint32_t> read;
  const std::uint32_t* left = hashes_.data() + (file_ ? 0 : place(a));
  const std::uint32_t* right = hashes_.data() + (file_ ? 0 : place(b));
  if (file_) {
    read.resize(std::size_t{2} * band);
    std::size_t bytes = band * sizeof read[0];
    if (!read_at(file_, read.data(), bytes, place(a) * sizeof read[0]) ||
        !read_at(file_, read.data() + band, bytes, place(b) * sizeof read[0]))
      return failed("read");
    left = read.data();
    right = read.data() + band;
  }
  for (unsigned i = 0; i < band; ++i)
    if (left[i] == right[i] && left[i] != 0) return true;
  return false;
}

Result<> BandTable::forget(unsigned band, std::uint32_t number) {
  std::uint32_t none = 0;
  if (!file_)
    hashes_[place(number) + band] = none;
  else if (!write_at(file_, &none, sizeof none, (place(number) + band) * sizeof none))
    return failed("write");
  return {};
}

}  // namespace kw::near
