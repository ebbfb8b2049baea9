#include "licence/notice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "licence/bodies.h"
#include "licence/expression.h"
#include "licence/licence.h"
#include "licence/names.h"
#include "licence/words.h"

namespace kw::licence {
namespace {

// A long notice is thirty lines, and a file may have two.
constexpr std::size_t max_lines = 100;
constexpr std::size_t max_bytes = 16'000;

constexpr std::array<std::string_view, 14> of_others{
    "adapted",  "portions", "derived", "ported",   "incorporates", "borrowed", "original",
    "modified", "taken",    "copied",  "inspired", "originally",   "includes", "extends"};

// Whether the words before the mention say that it speaks of other people's code in this file.
bool speaks_of_a_part(const Words& words, std::size_t at) {
  std::size_t begin = at;
  for (int n = 0; n < 30 && begin > 0; ++n) begin = words.text.rfind(' ', begin - 1);
  const std::string_view before = std::string_view(words.text).substr(begin, at + 1 - begin);
  return std::any_of(of_others.begin(), of_others.end(), [&](std::string_view word) {
    return before.find(fmt::format(" {} ", word)) != std::string_view::npos;
  });
}

}  // namespace

std::optional<Notice> read_notice(std::string_view bytes) {
  const Words words = words_of(head_of(bytes, max_lines, max_bytes));
  const std::vector<Body> texts = bodies(words);
  std::vector<std::string> all;
  std::size_t first = std::string::npos;
  bool whole = false;
  const auto add = [&](const std::string& spdx, std::size_t at) {
    if (spdx.empty()) return;
    first = std::min(first, at);
    whole = whole || !speaks_of_a_part(words, at);
    all.push_back(spdx);
  };
  for (const Body& body : texts) add(body.spdx, body.begin);
  for (const Mention& mention : mentions(words)) add(mention.spdx, mention.at);
  std::string spdx = both(all);
  if (spdx.empty()) return std::nullopt;
  return Notice{.spdx = std::move(spdx), .line = line_of(words, first), .of_a_part = !whole};
}

std::optional<corpus::Licence> from_notice(std::string_view bytes) {
  auto notice = read_notice(bytes);
  if (!notice) return std::nullopt;
  return corpus::Licence{.spdx = std::move(notice->spdx),
                         .evidence = fmt::format("notice, line {}", notice->line)};
}

}  // namespace kw::licence
