#include "report/summary/circumstances.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/core/counted.h"
#include "base/core/display.h"
#include "report/summary/summary.h"

namespace kw::report {
namespace {

constexpr std::size_t most_values = 3;
constexpr std::size_t longest_value = 60;  // cells
constexpr std::string_view not_recorded = "not recorded";

std::string shown(std::string_view value) {
  return fitted(visible_line(value), longest_value);
}

std::string clock_words(std::optional<double> mhz) {
  return mhz ? fmt::format("{:.0f} MHz", *mhz) : std::string();
}

// A verdict states its clocks and the driver's reasons for slower ones together.
std::string throttle_words(const Rows& rows, std::size_t row) {
  if (!rows.throttle.is_null(row)) return std::string(rows.throttle[row]);
  return rows.clock_sm_mhz.is_null(row) ? "" : "none";
}

std::string gpu_words(const Rows& rows, std::size_t row) {
  if (!rows.gpu.is_null(row)) return std::string(rows.gpu[row]);
  return rows.trust[row] == "interpreter" ? "none (Triton's interpreter)" : "";
}

// Verdicts of this program state its version.
std::string judge_words(const Rows& rows, std::size_t row) {
  if (rows.program_version.is_null(row)) return "another evaluator";
  return fmt::format("kernelwright {}", rows.program_version[row]);
}

}  // namespace

std::string counts_in_words(const std::map<std::string, std::size_t>& counts) {
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), most_values); ++i)
    text += fmt::format("{}{} ({})", i > 0 ? ", " : "", shown(sorted[i].first), sorted[i].second);
  if (sorted.size() > most_values) text += fmt::format(" and {} more", sorted.size() - most_values);
  return text;
}

void Circumstances::add(const Rows& rows, std::size_t row) {
  ++rows_;
  auto count = [&](std::string_view name, std::string_view value) {
    ++values_[std::string(name)][std::string(value)];
  };
  count("model", rows.model[row]);
  count("dtype", rows.dtype[row]);
  count("tolerance", rows.tolerance[row]);
  count("shapes", rows.shapes[row]);
  count("trust", rows.trust[row]);
  count("GPU", gpu_words(rows, row));
  count("timer", rows.instrument[row]);
  count("SM clock", clock_words(rows.clock_sm_mhz[row]));
  count("throttling", throttle_words(rows, row));
  count("protocol", rows.protocol[row]);
  count("PyTorch", rows.torch[row]);
  count("Triton", rows.triton[row]);
  count("judged by", judge_words(rows, row));
  std::string origin(rows.task_source[row]);
  if (origin.empty()) origin = "a source that is not recorded";
  if (!rows.level.is_null(row)) origin += fmt::format(" level {}", rows.level[row]);
  origin_of_task_[task_of(rows, row)] = origin;
}

bool Circumstances::is_recorded(std::string_view name) const {
  auto found = values_.find(name);
  return found != values_.end() && !(found->second.size() == 1 && found->second.begin()->first.empty());
}

std::string Circumstances::words(std::string_view name) const {
  if (!is_recorded(name)) return fmt::format("{} {}", name, not_recorded);
  Counts counts = values_.find(name)->second;
  if (counts.size() == 1) return fmt::format("{} {}", name, shown(counts.begin()->first));
  if (auto empty = counts.find(""); empty != counts.end()) {
    std::size_t missing = empty->second;
    counts.erase(empty);
    counts.emplace(not_recorded, missing);
  }
  return fmt::format("{} {}", name, counts_in_words(counts));
}

std::string Circumstances::words(const std::vector<std::string_view>& names) const {
  std::string text;
  for (std::string_view name : names) text += fmt::format("{}{}", text.empty() ? "" : "; ", words(name));
  return text;
}

std::string Circumstances::tasks_words() const {
  Counts origins;
  for (const auto& [task, origin] : origin_of_task_) ++origins[origin];
  std::size_t tasks = origin_of_task_.size();
  std::string text = counted(tasks, "task");
  if (origins.size() == 1) return fmt::format("{} from {}", text, shown(origins.begin()->first));
  return fmt::format("{} from {}", text, counts_in_words(origins));
}

}  // namespace kw::report
