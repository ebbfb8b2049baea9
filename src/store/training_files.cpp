#include "store/training_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>

#include "base/new_file.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

// Rows in a file beside the output until it is known which of them have to be its first.
class Spool {
 public:
  explicit Spool(NewFile rest) : rest_(std::move(rest)) {}

  Result<> add(const TrainingRow& row) {
    std::size_t known = filled_.size();
    filled_.insert(row.filled.begin(), row.filled.end());
    if (filled_.size() > known) {
      front_.push_back(row.text);
      return {};
    }
    return rest_.write(row.text + "\n");
  }

  // Hands on each row in its final order.
  Result<> read(const std::function<Result<>(std::string_view)>& take) {
    if (auto flushed = rest_.flush(); !flushed) return flushed;
    for (const std::string& row : front_)
      if (auto taken = take(row); !taken) return taken;
    std::ifstream rest(rest_.neighbour(), std::ios::binary);
    std::string row;
    while (std::getline(rest, row))
      if (auto taken = take(row); !taken) return taken;
    if (rest.bad()) return fail(fmt::format("cannot read {}", rest_.neighbour().string()));
    return {};
  }

 private:
  NewFile rest_;  // never finished, so it goes when this does
  std::vector<std::string> front_;
  std::set<std::string> filled_;
};

Result<Tally> spool_rows(TraceReader& reader, const TrainingOptions& options, Spool& spool) {
  Tally tally;
  while (true) {
    auto trace = reader.next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return tally;
    for (const TrainingRow& row : training_rows(**trace, options, tally))
      if (auto added = spool.add(row); !added) return std::unexpected(added.error());
  }
}

Result<> write_rows(Spool& spool, const fs::path& path) {
  auto file = NewFile::create(path);
  if (!file) return std::unexpected(file.error());
  bool list = path.extension() == ".json";
  std::string_view before = list ? "[\n" : "";
  auto written = spool.read([&](std::string_view row) -> Result<> {
    if (auto begun = file->write(before); !begun) return begun;
    before = list ? ",\n" : "\n";
    return file->write(row);
  });
  if (!written) return written;
  if (auto ended = file->write(list ? "\n]\n" : "\n"); !ended) return ended;
  return file->finish();
}

}  // namespace

Result<Tally> write_training(TraceReader& reader, const fs::path& path, const TrainingOptions& options) {
  fs::path rest = path;
  auto file = NewFile::create(rest += ".rows");
  if (!file) return std::unexpected(file.error());
  Spool spool(std::move(*file));
  auto tally = spool_rows(reader, options, spool);
  if (!tally || tally->rows == 0) return tally;
  if (auto written = write_rows(spool, path); !written) return std::unexpected(written.error());
  return tally;
}

std::string left_out_in_words(const Tally& tally) {
  std::vector<std::pair<std::string, std::size_t>> reasons(tally.left_out.begin(), tally.left_out.end());
  if (tally.benchmarks > 0) reasons.emplace_back("of a benchmark", tally.benchmarks);
  std::ranges::sort(reasons, [](const auto& one, const auto& other) {
    return one.second != other.second ? one.second > other.second : one.first < other.first;
  });
  std::vector<std::string> words;
  for (const auto& [why, count] : reasons) words.push_back(fmt::format("{} {}", count, why));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace kw::store
