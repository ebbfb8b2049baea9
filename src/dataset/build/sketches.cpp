#include "dataset/build/sketches.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/core/crypto.h"
#include "base/core/files.h"
#include "dataset/build/ordered.h"

namespace kw::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t append_at_once = 4'096;  // sketches

// One folder per set of parameters, since the sketches depend on them.
std::string folder_name(const near::Parameters& p) {
  return sha256_hex(fmt::format("1 {} {} {} {} {}", p.shingle_tokens, p.words_only, p.bands, p.rows, p.seed))
      .substr(0, 16);
}

unsigned char nibble(char c) {
  return static_cast<unsigned char>(c <= '9' ? c - '0' : c - 'a' + 10);
}

Digest digest_at(std::string_view bytes, std::size_t at) {
  Digest digest{};
  std::memcpy(digest.data(), bytes.data() + at, digest.size());
  return digest;
}

}  // namespace

Digest digest_of_hex(std::string_view hex) {
  Digest digest{};
  for (std::size_t i = 0; i < digest.size() && 2 * i + 1 < hex.size(); ++i)
    digest[i] = static_cast<unsigned char>(nibble(hex[2 * i]) * 16 + nibble(hex[2 * i + 1]));
  return digest;
}

std::size_t DigestHash::operator()(const Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

Result<KeptSketches> KeptSketches::open(const fs::path& folder, const near::Parameters& parameters) {
  fs::path own = folder / folder_name(parameters);
  std::error_code error;
  fs::create_directories(own, error);
  std::string keys;
  if (fs::exists(own / "keys", error)) {
    auto text = read_file(own / "keys", std::size_t{1} << 36U);
    if (!text) return std::unexpected(text.error());
    keys = std::move(*text);
  }
  auto file = near::SketchFile::open(own / "sketches", parameters);
  std::size_t known = keys.size() / sizeof(Digest);
  // A process killed between the two writes leaves different counts; then both files are made anew.
  if (!file || file->count() != known) {
    fs::remove(own / "sketches", error);
    fs::remove(own / "keys", error);
    known = 0;
    file = near::SketchFile::open(own / "sketches", parameters);
    if (!file) return std::unexpected(file.error());
  }
  KeptSketches kept(own, std::move(*file));
  kept.numbers_.reserve(known);
  for (std::uint32_t i = 0; i < known; ++i) kept.numbers_.emplace(digest_at(keys, i * sizeof(Digest)), i);
  return kept;
}

Result<near::SketchFile> KeptSketches::select(const std::vector<Digest>& keys) const {
  const near::Parameters& parameters = file_.parameters();
  std::size_t width = std::size_t{parameters.bands} * parameters.rows;
  std::vector<std::uint32_t> all(width * file_.count());
  auto read = file_.each_block([&](const near::SketchFile::Block& block) -> Result<> {
    for (std::size_t band = 0, at = 0; band < parameters.bands; ++band)
      for (std::size_t text = 0; text < block.texts; ++text)
        for (std::size_t row = 0; row < parameters.rows; ++row)
          all[(block.first + text) * width + band * parameters.rows + row] = block.values[at++];
    return {};
  });
  if (!read) return std::unexpected(read.error());
  fs::path path = folder_ / "selected";
  std::error_code error;
  fs::remove(path, error);
  auto selected = near::SketchFile::open(path, parameters);
  if (!selected) return selected;
  for (const Digest& key : keys) {
    auto from = all.begin() + static_cast<std::ptrdiff_t>(numbers_.at(key) * width);
    if (auto done = selected->append({&*from, width}); !done) return std::unexpected(done.error());
  }
  if (auto done = selected->flush(); !done) return std::unexpected(done.error());
  fs::remove(path, error);
  return selected;
}

namespace {

struct Sketched {
  Digest key{};
  std::optional<near::Sketch> sketch;  // empty: it was known before
  std::uint64_t bytes = 0;
};

}  // namespace

struct Sketching::State {
  State(KeptSketches& kept, unsigned threads, Placed on_placed)
      : sketches(kept),
        parameters(kept.file_.parameters()),
        known(kept.numbers_),
        placed(std::move(on_placed)),
        pool(
            threads, [this](const Job& job) { return work(job); },
            [this](Result<Sketched> made) { consume(std::move(made)); }) {}

  // Runs in a worker thread; `known` does not change during the object's lifetime.
  Result<Sketched> work(const Job& job) const {
    auto prepared = job();
    if (!prepared) return std::unexpected(prepared.error());
    Sketched made{prepared->key, std::nullopt, prepared->text.size()};
    if (known.contains(made.key)) return made;
    thread_local std::optional<near::Sketcher> sketcher;
    thread_local std::uint64_t made_for = 0;
    if (made_for != serial) sketcher.emplace(parameters);
    made_for = serial;
    made.sketch.emplace(std::size_t{parameters.bands} * parameters.rows);
    sketcher->sketch(prepared->text, *made.sketch);
    return made;
  }

  void consume(Result<Sketched> made) {
    if (!outcome) return;
    if (!made) {
      outcome = std::unexpected(made.error());
      return;
    }
    bytes += made->bytes;
    if (made->sketch) sketched_bytes += made->bytes;
    bool is_first = seen.emplace(made->key, 0).second;
    auto next = static_cast<std::uint32_t>(known.size() + fresh.size());
    auto old = known.find(made->key);
    std::uint32_t number =
        old != known.end() ? old->second : fresh.try_emplace(made->key, next).first->second;
    if (number == next) {
      batch.insert(batch.end(), made->sketch->begin(), made->sketch->end());
      keys.append(reinterpret_cast<const char*>(made->key.data()), made->key.size());
      if (++pending == append_at_once) flush();
    }
    placed(number, is_first);
  }

  void flush() {
    if (auto written = sketches.file_.append(batch); !written && outcome) outcome = written;
    batch.clear();
    pending = 0;
  }

  Result<> finish() {
    pool.finish();
    if (pending > 0) flush();
    if (!outcome) return outcome;
    if (auto flushed = sketches.file_.flush(); !flushed) return flushed;
    std::ofstream file(sketches.folder_ / "keys", std::ios::binary | std::ios::app);
    file.write(keys.data(), static_cast<std::streamsize>(keys.size()));
    if (!file.flush()) return fail(fmt::format("cannot write {}", (sketches.folder_ / "keys").string()));
    sketches.numbers_.merge(fresh);
    return {};
  }

  // Identifies an object. An address may be reused, and a thread would then sketch with outdated parameters.
  static std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
  }

  const std::uint64_t serial = next_serial();
  KeptSketches& sketches;
  near::Parameters parameters;
  const DigestNumbers& known;
  Placed placed;
  DigestNumbers fresh;
  DigestNumbers seen;
  std::vector<std::uint32_t> batch;
  std::string keys;
  std::size_t pending = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sketched_bytes = 0;
  Result<> outcome;
  Ordered<Job, Result<Sketched>> pool;
};

Sketching::Sketching(KeptSketches& sketches, unsigned threads, Placed placed)
    : state_(std::make_unique<State>(sketches, threads, std::move(placed))) {}
Sketching::~Sketching() = default;
void Sketching::push(Job job) {
  state_->pool.push(std::move(job));
}
Result<> Sketching::finish() {
  return state_->finish();
}
std::uint64_t Sketching::bytes() const {
  return state_->bytes;
}
std::uint64_t Sketching::sketched_bytes() const {
  return state_->sketched_bytes;
}

}  // namespace kw::dataset
