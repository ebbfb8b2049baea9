#include "code/similarity/join.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "code/similarity/near.h"
#include "code/similarity/sketch_file.h"

namespace kw::near {

Result<Set> SetCache::at(std::uint32_t number) {
  Part& part = parts_[number % parts];
  if (Set set = find(part, number)) return set;
  auto text = text_(number);
  if (!text) return std::unexpected(text.error());
  auto set = std::make_shared<std::vector<std::uint64_t>>(shingle_set(*text, parameters_));
  set->shrink_to_fit();
  keep(part, number, set);
  return set;
}

// Includes the entries of the list and the map.
std::uint64_t SetCache::bytes_of(const Set& set) {
  return set->size() * sizeof(std::uint64_t) + 160;
}

Set SetCache::find(Part& part, std::uint32_t number) {
  std::scoped_lock lock(part.mutex);
  auto found = part.places.find(number);
  if (found == part.places.end()) return nullptr;
  part.latest_first.splice(part.latest_first.begin(), part.latest_first, found->second);
  return found->second->set;
}

void SetCache::keep(Part& part, std::uint32_t number, const Set& set) {
  std::uint64_t bytes = bytes_of(set);
  if (bytes > part_bytes_ / 8) return;
  std::scoped_lock lock(part.mutex);
  if (part.places.contains(number)) return;  // another thread was faster
  while (part.bytes + bytes > part_bytes_) {
    part.bytes -= bytes_of(part.latest_first.back().set);
    part.places.erase(part.latest_first.back().number);
    part.latest_first.pop_back();
  }
  part.latest_first.push_front({number, set});
  part.places.emplace(number, part.latest_first.begin());
  part.bytes += bytes;
}

namespace {

constexpr std::size_t pairs_at_once = 64;
constexpr std::size_t worth_a_thread = 256;  // pairs

// One wave of pairs, which threads take in pieces.
class Work {
 public:
  Work(std::span<Pair> pairs, SetCache& sets, const VerifyOptions& options)
      : pairs_(pairs), sets_(sets), options_(options) {}

  // `asks`: only the calling thread checks for a stop.
  void run(bool asks) {
    while (!ended_.load(std::memory_order_relaxed)) {
      std::size_t begin = next_.fetch_add(pairs_at_once);
      if (begin >= pairs_.size()) return;
      if (asks && options_.stop && options_.stop())
        return end({begin, Error{"near duplicates: stopped", ""}});
      std::size_t end_of_piece = std::min(begin + pairs_at_once, pairs_.size());
      for (std::size_t i = begin; i < end_of_piece; ++i)
        if (auto done = compare(pairs_[i]); !done) return end({i, done.error()});
    }
  }

  Result<> result() const {
    if (first_error_) return std::unexpected(first_error_->error);
    return {};
  }

 private:
  struct Failure {
    std::size_t at = 0;
    Error error;
  };

  Result<> compare(Pair& pair) {
    auto a = sets_.at(pair.a);
    if (!a) return std::unexpected(a.error());
    auto b = sets_.at(pair.b);
    if (!b) return std::unexpected(b.error());
    auto [less, more] = std::minmax({(*a)->size(), (*b)->size()});
    // The index is at most the smaller size over the larger one.
    bool can_be = static_cast<double>(less) >= options_.threshold * static_cast<double>(more) - 1;
    double index = can_be ? jaccard(**a, **b) : -1;
    pair.jaccard = index >= options_.threshold ? index : -1;
    return {};
  }

  void end(Failure failure) {
    std::scoped_lock lock(mutex_);
    if (!first_error_ || failure.at < first_error_->at) first_error_ = std::move(failure);
    ended_ = true;
  }

  std::span<Pair> pairs_;
  SetCache& sets_;
  const VerifyOptions& options_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  std::optional<Failure> first_error_;
};

}  // namespace

Result<> verify(std::span<Pair> pairs, SetCache& sets, const VerifyOptions& options) {
  Work work(pairs, sets, options);
  {
    std::vector<std::jthread> helpers;
    std::size_t useful =
        std::min<std::size_t>(std::max(options.threads, 1U), pairs.size() / worth_a_thread + 1);
    for (std::size_t i = 1; i < useful; ++i) helpers.emplace_back([&work] { work.run(false); });
    work.run(true);
  }
  return work.result();
}

namespace {

constexpr std::uint64_t pairs_a_batch = 1 << 16;
// Above this number of pairs a bucket is too full: only some of its texts are compared with all others.
constexpr std::uint64_t pairs_a_bucket = 1 << 13;
constexpr std::uint64_t pairs_a_bucket_of_all = 1 << 23;
// The limit of pairs of a bucket that is too full; it has two leaders in any case.
constexpr std::uint64_t pairs_of_leaders = 1 << 18;
constexpr std::uint64_t max_leaders = 64;
constexpr std::uint64_t least_cache = 16 << 20;

std::uint64_t choose_two(std::uint64_t n) {
  return n < 2 ? 0 : n * (n - 1) / 2;
}

// The texts of one bucket. The newest text leads first, so that old texts are never compared with each other.
struct Bucket {
  std::span<const Entry> entries;
  std::size_t led = 0;  // texts from the end that were compared with all before them
};

class Join {
 public:
  Join(const SketchFile& sketches, const TextAt& text, const JoinOptions& options, BandTable table)
      : parameters_(sketches.parameters()),
        options_(options),
        verify_{options.threads, parameters_.threshold, options.stop},
        table_(std::move(table)),
        components_(sketches.count()),
        sets_(text, parameters_, cache_bytes(sketches, options)) {}

  Result<Joined> run() {
    for (unsigned band = 0; band < parameters_.bands; ++band)
      if (auto done = look_at(band); !done) return std::unexpected(done.error());
    std::ranges::sort(joined_.pairs, {}, [](const Pair& p) { return std::pair(p.a, p.b); });
    // Leaders of different buckets may have been compared as the same pair.
    auto again = std::ranges::unique(joined_.pairs, {}, [](const Pair& p) { return std::pair(p.a, p.b); });
    joined_.pairs.erase(again.begin(), again.end());
    joined_.tally.over = joined_.pairs.size();
    return std::move(joined_);
  }

 private:
  static std::uint64_t cache_bytes(const SketchFile& sketches, const JoinOptions& options) {
    std::uint64_t others = std::uint64_t{sketches.count()} * (20 + 4 * sketches.parameters().bands);
    return options.memory_bytes > others + least_cache ? options.memory_bytes - others : least_cache;
  }

  Result<> look_at(unsigned band);
  Result<> look_at_batch(unsigned band, std::vector<Bucket>& batch);
  Result<> take_next_leaders(unsigned band, std::vector<Bucket>& batch);
  Result<> look_at_full(unsigned band, std::span<const Entry> entries);
  Result<> lead(unsigned band, std::span<const Entry> entries, const std::vector<std::uint32_t>& leaders);
  void count_bounded(std::span<const Entry> entries, const std::vector<std::uint32_t>& leaders);
  Result<> add(unsigned band, std::uint32_t a, std::uint32_t b);
  Result<> verify_wave();

  bool skips(std::uint32_t a, std::uint32_t b) { return !options_.all_pairs && components_.together(a, b); }
  // Pairs of the bucket with at least one new text.
  std::uint64_t pairs_in(std::span<const Entry> entries) const {
    auto old = std::ranges::lower_bound(entries, options_.first_new, {}, &Entry::number) - entries.begin();
    return choose_two(entries.size()) - choose_two(static_cast<std::uint64_t>(old));
  }

  const Parameters& parameters_;
  const JoinOptions& options_;
  VerifyOptions verify_;
  BandTable table_;
  Components components_;
  SetCache sets_;
  std::vector<Pair> wave_;
  Joined joined_;
};

// Collects buckets in the order of their hashes into batches, whose sizes depend on the buckets only.
Result<> Join::look_at(unsigned band) {
  auto entries = table_.sorted(band);
  if (!entries) return std::unexpected(entries.error());
  std::uint64_t limit = options_.all_pairs ? pairs_a_bucket_of_all : pairs_a_bucket;
  std::vector<Bucket> batch;
  std::uint64_t pairs = 0;
  for (std::size_t begin = 0, end = 0; begin < entries->size(); begin = end) {
    while (end < entries->size() && (*entries)[end].hash() == (*entries)[begin].hash()) ++end;
    if (end - begin < 2 || (*entries)[end - 1].number() < options_.first_new) continue;
    std::span<const Entry> bucket(entries->data() + begin, end - begin);
    std::uint64_t more = pairs_in(bucket);
    if (more > limit) {
      if (auto done = look_at_full(band, bucket); !done) return done;
      continue;
    }
    batch.push_back({bucket});
    pairs += more;
    if (pairs < pairs_a_batch) continue;
    if (auto done = look_at_batch(band, batch); !done) return done;
    pairs = 0;
  }
  return look_at_batch(band, batch);
}

// In waves: the pairs of every bucket's newest text, then of the next. Later waves skip connected pairs.
Result<> Join::look_at_batch(unsigned band, std::vector<Bucket>& batch) {
  while (!batch.empty()) {
    if (auto taken = take_next_leaders(band, batch); !taken) return taken;
    if (auto done = verify_wave(); !done) return done;
    std::erase_if(batch, [&](const Bucket& bucket) {
      std::size_t left = bucket.entries.size() - bucket.led;
      return left < 2 || bucket.entries[left - 1].number() < options_.first_new;
    });
  }
  return {};
}

Result<> Join::take_next_leaders(unsigned band, std::vector<Bucket>& batch) {
  for (Bucket& bucket : batch) {
    std::size_t last = bucket.entries.size() - 1 - bucket.led++;
    std::uint32_t leader = bucket.entries[last].number();
    for (std::size_t i = 0; i < last; ++i)
      if (auto added = add(band, bucket.entries[i].number(), leader); !added) return added;
  }
  return {};
}

Result<> Join::look_at_full(unsigned band, std::span<const Entry> entries) {
  std::uint64_t most = std::clamp<std::uint64_t>(pairs_of_leaders / entries.size(), 2, max_leaders);
  std::vector<std::uint32_t> leaders;
  std::unordered_map<std::uint32_t, bool> have_led;  // by component; rebuilt since components grow
  for (std::size_t i = entries.size(); i-- > 0 && leaders.size() < most;) {
    std::uint32_t leader = entries[i].number();
    if (leader < options_.first_new) break;
    if (!options_.all_pairs && have_led.contains(components_.of(leader))) continue;
    leaders.push_back(leader);
    if (auto done = lead(band, entries, leaders); !done) return done;
    have_led.clear();
    for (std::uint32_t before : leaders) have_led.emplace(components_.of(before), true);
  }
  count_bounded(entries, leaders);
  // Pairs that were skipped here are then compared in a less full bucket.
  for (Entry entry : entries)
    if (auto done = table_.forget(band, entry.number()); !done) return done;
  return {};
}

// Compares the last of the leaders with all texts except the earlier leaders, which were compared with it.
Result<> Join::lead(unsigned band, std::span<const Entry> entries,
                    const std::vector<std::uint32_t>& leaders) {
  std::uint32_t leader = leaders.back();
  for (Entry entry : entries) {
    std::uint32_t other = entry.number();
    if (std::ranges::find(leaders, other) != leaders.end()) continue;
    if (auto added = add(band, std::min(other, leader), std::max(other, leader)); !added) return added;
    if (wave_.size() < pairs_a_batch) continue;
    if (auto done = verify_wave(); !done) return done;
  }
  return verify_wave();
}

void Join::count_bounded(std::span<const Entry> entries, const std::vector<std::uint32_t>& leaders) {
  std::uint64_t pairs = pairs_in(entries);
  std::uint64_t looked_at = leaders.size() * (entries.size() - leaders.size()) + choose_two(leaders.size());
  std::uint64_t together = 0;
  if (!options_.all_pairs) {
    struct Size {
      std::uint64_t all = 0;
      std::uint64_t old = 0;
      std::uint64_t leaders = 0;
    };
    std::unordered_map<std::uint32_t, Size> sizes;  // of components
    for (Entry entry : entries) {
      Size& size = sizes[components_.of(entry.number())];
      ++size.all;
      size.old += entry.number() < options_.first_new;
    }
    for (std::uint32_t leader : leaders) ++sizes[components_.of(leader)].leaders;
    for (const auto& [component, size] : sizes) {
      together += choose_two(size.all) - choose_two(size.old);
      // Pairs of a leader within its component are part of both counts.
      looked_at -= size.leaders * (size.all - size.leaders) + choose_two(size.leaders);
    }
  }
  if (pairs > looked_at + together) joined_.tally.bounded += pairs - looked_at - together;
}

// A pair is compared in the first band that it shares.
Result<> Join::add(unsigned band, std::uint32_t a, std::uint32_t b) {
  if (skips(a, b)) return {};
  auto before = table_.share_before(band, a, b);
  if (!before) return std::unexpected(before.error());
  if (*before) return {};
  ++joined_.tally.candidates;
  wave_.push_back({a, b, 0});
  return {};
}

// Sorted by b, so that consecutive pairs share a cached set.
Result<> Join::verify_wave() {
  if (options_.stop && options_.stop()) return fail("near duplicates: stopped");
  std::ranges::sort(wave_, {}, [](const Pair& p) { return std::pair(p.b, p.a); });
  if (auto done = verify(wave_, sets_, verify_); !done) return done;
  joined_.tally.verified += wave_.size();
  for (const Pair& pair : wave_) {
    if (pair.jaccard < 0) continue;
    if (!options_.all_pairs && !components_.together(pair.a, pair.b)) components_.connect(pair.a, pair.b);
    joined_.pairs.push_back(pair);
  }
  wave_.clear();
  return {};
}

}  // namespace

Result<Joined> join(const SketchFile& sketches, const TextAt& text, const JoinOptions& options) {
  auto table = BandTable::make(sketches, options.memory_bytes / 2);
  if (!table) return std::unexpected(table.error());
  return Join(sketches, text, options, std::move(*table)).run();
}

}  // namespace kw::near
