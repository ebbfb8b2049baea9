#include "store/summary.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace kw::store {

boost::json::object to_json(const Summary& s) {
  return {{"total", s.traces},
          {"ended", s.ended},
          {"correct", s.correct},
          {"fast_1", s.fast_1},
          {"fast_2", s.fast_2},
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
  const std::pair<std::string_view, std::string> lines[] = {
      {"total", s.ended == s.traces ? fmt::format("{}", s.traces)
                                    : fmt::format("{}, of which {} have ended", s.traces, s.ended)},
      {"correct", share(s.correct)},
      {"fast_1", share(s.fast_1)},
      {"fast_2", share(s.fast_2)},
      {"turns", fmt::format("{}", s.turns)},
      {"tokens", fmt::format("{} in, {} out", s.prompt_tokens, s.completion_tokens)},
      {"seconds", fmt::format("{:.1f}, answers {:.1f}", s.elapsed_s, s.generation_s)}};
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:<9}{}\n", name, value);
  return text;
}

}  // namespace kw::store
