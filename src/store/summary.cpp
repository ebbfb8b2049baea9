#include "store/summary.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace kw::store {

namespace {

boost::json::value share_of(const Summary& s, std::uint64_t count) {
  return s.measured == 0 && s.correct > 0 ? boost::json::value(nullptr) : boost::json::value(count);
}

std::string in_words(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text;
}

}  // namespace

boost::json::object to_json(const Summary& s) {
  boost::json::object stop_reasons;
  for (const auto& [name, count] : s.stop_reasons) stop_reasons[name] = count;
  return {{"total", s.traces},
          {"ended", s.ended},
          {"correct", s.correct},
          {"measured", s.measured},
          {"fast_1", share_of(s, s.fast_1)},
          {"fast_2", share_of(s, s.fast_2)},
          {"stop_reasons", std::move(stop_reasons)},
          {"turns", s.turns},
          {"prompt_tokens", s.prompt_tokens},
          {"completion_tokens", s.completion_tokens},
          {"generation_s", s.generation_s},
          {"elapsed_s", s.elapsed_s}};
}

std::string in_words(const Summary& s) {
  auto share = [&](std::uint64_t count) {
    return s.ended == 0 ? fmt::format("{}", count)
                        : fmt::format("{} ({:.1f}%)", count,
                                      100.0 * static_cast<double>(count) / static_cast<double>(s.ended));
  };
  auto fast = [&](std::uint64_t count) {
    return s.measured == 0 && s.correct > 0 ? std::string("not measured") : share(count);
  };
  const std::pair<std::string_view, std::string> lines[] = {
      {"total", s.ended == s.traces ? fmt::format("{}", s.traces)
                                    : fmt::format("{}, of which {} have ended", s.traces, s.ended)},
      {"correct", share(s.correct)},
      {"fast_1", fast(s.fast_1)},
      {"fast_2", fast(s.fast_2)},
      {"ended", in_words(s.stop_reasons)},
      {"turns", fmt::format("{}", s.turns)},
      {"tokens", fmt::format("{} in, {} out", s.prompt_tokens, s.completion_tokens)},
      {"seconds", fmt::format("{:.1f}, answers {:.1f}", s.elapsed_s, s.generation_s)}};
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:<9}{}\n", name, value);
  return text;
}

}  // namespace kw::store
