#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <limits>

#include "near/io.h"
#include "near/near.h"

namespace kw::near {
namespace {

constexpr std::uint32_t block_texts = 4096;

// The file: a header, then blocks, each a block header and its values, band after band.
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
  std::uint64_t end = 0;     // of the whole blocks
  std::uint32_t stored = 0;  // texts in them
  std::vector<std::uint32_t> pending;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (!fd) return;
    [[maybe_unused]] auto unheard = store_pending();  // who wants to know calls flush()
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

// A machine that lost power may have kept a file's length and not its bytes.
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
