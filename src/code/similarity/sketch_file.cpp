#include "code/similarity/sketch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "code/similarity/near.h"

namespace kw::near {
namespace {

constexpr std::size_t texts_at_once = 4096;

// Never 0, which marks a forgotten band.
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

// A radix sort by hash, least digit first; it is stable, so that entries of one hash stay sorted by number.
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

namespace {

constexpr std::uint32_t block_texts = 4096;

// The file: a header, then blocks. A block is a block header and its values, band after band.
struct Header {
  std::array<char, 8> magic{'K', 'W', 'S', 'K', 'E', 'T', 'C', 'H'};
  std::uint32_t version = 1;  // of the layout, the tokens and the hash functions
  std::uint32_t bands = 0;
  std::uint32_t rows = 0;
  std::uint32_t shingle_tokens = 0;
  std::uint32_t words_only = 0;
  std::uint32_t reserved = 0;
  std::uint64_t seed = 0;
};

struct BlockHeader {
  std::uint32_t magic = 0x4b4c424b;
  std::uint32_t texts = 0;
  std::uint64_t sum = 0;
};

struct BlockPlace {
  std::uint64_t values_at = 0;
  std::uint32_t first = 0;
  std::uint32_t texts = 0;
};

Header header_of(const Parameters& parameters) {
  Header header;
  header.bands = parameters.bands;
  header.rows = parameters.rows;
  header.shingle_tokens = parameters.shingle_tokens;
  header.words_only = parameters.words_only;
  header.seed = parameters.seed;
  return header;
}

Result<> check(const Parameters& p) {
  bool good = p.bands >= 1 && p.rows >= 1 && p.bands <= 1024 && p.rows <= 1024 && p.bands * p.rows <= 4096 &&
              p.shingle_tokens >= 1 && p.shingle_tokens <= 1024 && p.threshold > 0 && p.threshold <= 1;
  if (good) return {};
  return fail(fmt::format("near duplicates: {} bands of {} rows, shingles of {} tokens and a threshold of {} "
                          "cannot be used",
                          p.bands, p.rows, p.shingle_tokens, p.threshold),
              "at most 4096 hash functions, shingles of 1 to 1024 tokens, a threshold over 0 and up to 1");
}

std::uint64_t sum_of(std::span<const std::uint32_t> values) {
  std::uint64_t sum = values.size();
  for (std::uint32_t value : values) sum = (sum ^ value) * 0x9e3779b97f4a7c15 + (sum >> 41);
  return sum;
}

}  // namespace

struct SketchFile::State {
  Parameters parameters;
  std::filesystem::path path;
  Fd fd;
  std::vector<BlockPlace> blocks;
  std::uint64_t end = 0;     // of the complete blocks
  std::uint32_t stored = 0;  // texts in them
  std::vector<std::uint32_t> pending;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (!fd) return;
    [[maybe_unused]] auto unheard = store_pending();  // flush() reports errors
  }

  std::size_t width() const { return std::size_t{parameters.bands} * parameters.rows; }
  std::uint32_t pending_texts() const { return static_cast<std::uint32_t>(pending.size() / width()); }

  std::unexpected<Error> failed(std::string_view verb) const {
    return fail(fmt::format("cannot {} the sketches in {}: {}", verb, path.string(), errno_text(errno)),
                errno == ENOSPC ? "make room on the disk" : "");
  }

  Result<> load();
  Result<> start_anew();
  Result<bool> last_block_is_whole() const;
  Result<> store_pending();
  std::vector<std::uint32_t> pending_by_band() const;
};

Result<> SketchFile::State::start_anew() {
  Header header = header_of(parameters);
  if (::ftruncate(fd.get(), 0) != 0 || !write_at(fd, &header, sizeof header, 0)) return failed("write");
  end = sizeof header;
  return {};
}

Result<> SketchFile::State::load() {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return failed("read");
  if (!S_ISREG(info.st_mode))
    return fail(fmt::format("cannot keep sketches in {}: it is no regular file", path.string()));
  auto size = static_cast<std::uint64_t>(info.st_size);
  if (size < sizeof(Header)) return start_anew();
  Header found;
  if (!read_at(fd, &found, sizeof found, 0)) return failed("read");
  if (found.magic != Header().magic)
    return fail(fmt::format("{} is no file of sketches", path.string()), "name another file");
  Header wanted = header_of(parameters);
  if (std::memcmp(&found, &wanted, sizeof found) != 0)
    return fail(fmt::format("the sketches in {} were made with other parameters", path.string()),
                "use the same parameters, or remove the file");
  end = sizeof found;
  while (size - end >= sizeof(BlockHeader)) {
    BlockHeader block;
    if (!read_at(fd, &block, sizeof block, end)) return failed("read");
    std::uint64_t bytes = std::uint64_t{block.texts} * width() * sizeof(std::uint32_t);
    bool whole = block.magic == BlockHeader().magic && block.texts >= 1 && block.texts <= block_texts &&
                 bytes <= size - end - sizeof block &&
                 block.texts <= std::numeric_limits<std::uint32_t>::max() - stored;
    if (!whole) break;
    blocks.push_back({end + sizeof block, stored, block.texts});
    stored += block.texts;
    end += sizeof block + bytes;
  }
  auto whole = last_block_is_whole();
  if (!whole) return std::unexpected(whole.error());
  if (!*whole) {
    end = blocks.back().values_at - sizeof(BlockHeader);
    stored = blocks.back().first;
    blocks.pop_back();
  }
  if (::ftruncate(fd.get(), static_cast<off_t>(end)) != 0) return failed("shorten");
  return {};
}

// After a power failure a file may have its length but not its bytes.
Result<bool> SketchFile::State::last_block_is_whole() const {
  if (blocks.empty()) return true;
  const BlockPlace& last = blocks.back();
  BlockHeader block;
  std::vector<std::uint32_t> values(last.texts * width());
  if (!read_at(fd, &block, sizeof block, last.values_at - sizeof block) ||
      !read_at(fd, values.data(), values.size() * sizeof(std::uint32_t), last.values_at))
    return failed("read");
  return block.sum == sum_of(values);
}

std::vector<std::uint32_t> SketchFile::State::pending_by_band() const {
  std::uint32_t texts = pending_texts();
  std::vector<std::uint32_t> turned(pending.size());
  std::size_t rows = parameters.rows;
  for (std::size_t text = 0; text < texts; ++text)
    for (std::size_t band = 0; band < parameters.bands; ++band)
      std::memcpy(&turned[(band * texts + text) * rows], &pending[text * width() + band * rows],
                  rows * sizeof(std::uint32_t));
  return turned;
}

Result<> SketchFile::State::store_pending() {
  if (pending.empty()) return {};
  auto values = pending_by_band();
  BlockHeader block;
  block.texts = pending_texts();
  block.sum = sum_of(values);
  std::size_t bytes = values.size() * sizeof(std::uint32_t);
  if (!write_at(fd, &block, sizeof block, end) || !write_at(fd, values.data(), bytes, end + sizeof block))
    return failed("write");
  blocks.push_back({end + sizeof block, stored, block.texts});
  stored += block.texts;
  end += sizeof block + bytes;
  pending.clear();
  return {};
}

Result<SketchFile> SketchFile::open(const std::filesystem::path& path, const Parameters& parameters) {
  if (auto good = check(parameters); !good) return std::unexpected(good.error());
  SketchFile file;
  file.state_ = std::make_shared<State>();
  State& state = *file.state_;
  state.parameters = parameters;
  state.path = path;
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) return state.failed("open");
  state.fd = std::move(fd);
  if (auto loaded = state.load(); !loaded) return std::unexpected(loaded.error());
  return file;
}

Result<> SketchFile::append(std::span<const std::uint32_t> sketches) {
  State& state = *state_;
  if (sketches.size() % state.width() != 0)
    return fail(
        fmt::format("{} values are no whole number of sketches of {}", sketches.size(), state.width()));
  while (!sketches.empty()) {
    if (count() == std::numeric_limits<std::uint32_t>::max())
      return fail(fmt::format("{} is full: it has 4,294,967,295 sketches", state.path.string()),
                  "split the corpus");
    state.pending.insert(state.pending.end(), sketches.begin(),
                         sketches.begin() + static_cast<std::ptrdiff_t>(state.width()));
    sketches = sketches.subspan(state.width());
    if (state.pending_texts() < block_texts) continue;
    if (auto stored = state.store_pending(); !stored) return stored;
  }
  return {};
}

Result<> SketchFile::flush() {
  return state_->store_pending();
}

std::uint32_t SketchFile::count() const {
  return state_->stored + state_->pending_texts();
}

Result<std::vector<std::uint32_t>> SketchFile::band(unsigned band) const {
  const State& state = *state_;
  if (band >= state.parameters.bands)
    return fail(
        fmt::format("{} has {} bands, and no band {}", state.path.string(), state.parameters.bands, band));
  std::size_t rows = state.parameters.rows;
  std::vector<std::uint32_t> column(std::size_t{count()} * rows);
  for (const BlockPlace& block : state.blocks) {
    std::uint64_t bytes = block.texts * rows * sizeof(std::uint32_t);
    if (!read_at(state.fd, &column[block.first * rows], bytes, block.values_at + band * bytes))
      return state.failed("read");
  }
  for (std::size_t text = 0; text < state.pending_texts(); ++text)
    std::memcpy(&column[(state.stored + text) * rows], &state.pending[text * state.width() + band * rows],
                rows * sizeof(std::uint32_t));
  return column;
}

Result<> SketchFile::each_block(const std::function<Result<>(const Block&)>& use) const {
  const State& state = *state_;
  std::vector<std::uint32_t> values;
  for (const BlockPlace& block : state.blocks) {
    values.resize(block.texts * state.width());
    if (!read_at(state.fd, values.data(), values.size() * sizeof(std::uint32_t), block.values_at))
      return state.failed("read");
    if (auto used = use({block.first, block.texts, values}); !used) return used;
  }
  if (state.pending.empty()) return {};
  values = state.pending_by_band();
  return use({state.stored, state.pending_texts(), values});
}

const Parameters& SketchFile::parameters() const {
  return state_->parameters;
}

const std::filesystem::path& SketchFile::path() const {
  return state_->path;
}

}  // namespace kw::near
