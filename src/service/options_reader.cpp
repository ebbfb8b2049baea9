#include "service/options_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "schema/json.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr std::array names{"correctness_trials", "timing_trials", "timing_precision", "tolerance",
                           "precision",          "tf32",          "move_weights",     "timeout_s"};
constexpr std::array precisions{"fp32", "fp16", "bf16"};
constexpr std::array rules{"kernelbench", "seed", "strict"};
constexpr std::int64_t most_correctness_trials = 1000;
constexpr std::int64_t most_timing_trials = 100'000;
constexpr double longest_timeout_s = 24 * 3600;

Answered<> wrong(std::string_view option, std::string_view why) {
  std::string field = fmt::format("options.{}", option);
  return refuse({400, "invalid", fmt::format("{} {}", field, why), field});
}

bool is_one_of(const auto& words, const json::value& value) {
  return value.is_string() && std::ranges::find(words, std::string_view(value.get_string())) != words.end();
}

Answered<> read_whole(std::string_view name, const json::value& value, std::int64_t most,
                      std::optional<std::uint32_t>& into) {
  auto number = integer_of(value);
  if (!number || *number < 1 || *number > most)
    return wrong(name, fmt::format("is not a whole number from 1 to {}", most));
  into = static_cast<std::uint32_t>(*number);
  return {};
}

Answered<> read_number(std::string_view name, const json::value& value, double most,
                       std::optional<double>& into) {
  double number = value.is_number() ? value.to_number<double>() : 0;
  if (!(number > 0 && number <= most))
    return wrong(name, fmt::format("is not a number above 0 and at most {}", most));
  into = number;
  return {};
}

Answered<> read_share(std::string_view name, const json::value& value, std::optional<double>& into) {
  double number = value.is_number() ? value.to_number<double>() : -1;
  if (!(number >= 0 && number <= 1)) return wrong(name, "is not a number from 0 to 1");
  into = number;
  return {};
}

Answered<> read_flag(std::string_view name, const json::value& value, std::optional<bool>& into) {
  if (!value.is_bool()) return wrong(name, "is neither true nor false");
  into = value.get_bool();
  return {};
}

Answered<> read_tolerance(const json::value& value, std::optional<ToleranceOption>& into) {
  if (is_one_of(rules, value)) {
    into = ToleranceOption{std::string(value.get_string()), -1, -1};
    return {};
  }
  std::string expected = fmt::format(R"(is none of {} and {{"rtol": R, "atol": A}})", fmt::join(rules, ", "));
  if (!value.is_object()) return wrong("tolerance", expected);
  ToleranceOption custom{"custom", -1, -1};
  for (const auto& [key, number] : value.get_object()) {
    double* place = key == "rtol" ? &custom.rtol : key == "atol" ? &custom.atol : nullptr;
    if (place == nullptr) return wrong(fmt::format("tolerance.{}", std::string_view(key)), "is unknown");
    *place = number.is_number() ? number.to_number<double>() : -1;
    if (!(*place >= 0) || !std::isfinite(*place))
      return wrong(fmt::format("tolerance.{}", std::string_view(key)), "is not a number from 0 on");
  }
  if (custom.rtol < 0 || custom.atol < 0) return wrong("tolerance", "needs both rtol and atol");
  into = custom;
  return {};
}

Answered<> read_option(std::string_view name, const json::value& value, JobOptions& options) {
  if (name == "correctness_trials")
    return read_whole(name, value, most_correctness_trials, options.correctness_trials);
  if (name == "timing_trials") return read_whole(name, value, most_timing_trials, options.timing_trials);
  if (name == "timing_precision") return read_share(name, value, options.timing_precision);
  if (name == "timeout_s") return read_number(name, value, longest_timeout_s, options.timeout_s);
  if (name == "tf32") return read_flag(name, value, options.tf32);
  if (name == "move_weights") return read_flag(name, value, options.move_weights);
  if (name == "tolerance") return read_tolerance(value, options.tolerance);
  if (!is_one_of(precisions, value))
    return wrong(name, fmt::format("is none of {}", fmt::join(precisions, ", ")));
  options.precision = std::string(value.get_string());
  return {};
}

}  // namespace

Answered<JobOptions> read_options(const json::value& value) {
  if (!value.is_object()) return refuse({400, "invalid", "options is no object", "options"});
  JobOptions options;
  for (const auto& [name, option] : value.get_object()) {
    if (std::ranges::find(names, std::string_view(name)) == names.end())
      return refuse(wrong(name, fmt::format("is unknown: there are {}", fmt::join(names, ", "))).error());
    if (option.is_null()) continue;
    if (auto read = read_option(name, option, options); !read) return refuse(std::move(read.error()));
  }
  return options;
}

}  // namespace kw::service
