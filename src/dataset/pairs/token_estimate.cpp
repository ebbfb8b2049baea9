#include "dataset/pairs/token_estimate.h"

#include <algorithm>
#include <array>

#include "base/core/text.h"

namespace kw::pairs {
namespace {

bool is_token_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_wide(char c) {
  return (static_cast<unsigned char>(c) & 0x80U) != 0;
}

bool is_mark(char c) {
  return !is_letter(c) && !is_digit(c) && !is_token_space(c) && !is_wide(c);
}

// Hundredths of tokens of a word with that many letters, as measured on Triton code.
std::size_t word_cost(std::size_t letters) {
  static constexpr std::array<std::size_t, 17> costs = {0,   100, 102, 119, 112, 115, 115, 126, 140,
                                                        159, 179, 184, 190, 209, 238, 260, 300};
  return letters < costs.size() ? costs[letters] : 20 * letters;
}

std::size_t mark_cost(std::size_t bytes) {
  if (bytes <= 2) return 100;
  return bytes == 3 ? 113 : std::min<std::size_t>(170 + 5 * (bytes - 4), 300);
}

template <typename Is>
std::size_t run_end(std::string_view text, std::size_t at, Is is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

}  // namespace

std::size_t estimated_tokens(std::string_view text) {
  std::size_t cost = 0;  // in hundredths
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    // One character before a word belongs to it.
    if (at + 1 < text.size() && is_letter(text[at + 1]) && !is_letter(c) && !is_digit(c) && c != '\n' &&
        c != '\r' && !is_wide(c))
      ++at;
    std::size_t end = at;
    if (is_letter(text[at])) {
      end = run_end(text, at, is_letter);
      cost += word_cost(end - at);
    } else if (is_digit(c)) {
      end = at + 1;
      cost += 100;
    } else if (is_wide(c)) {
      end = run_end(text, at, is_wide);
      cost += 40 * (end - at);
    } else if (is_token_space(c)) {
      // The last space of a run goes to what follows it.
      end = run_end(text, at, is_token_space);
      if (end < text.size() && text[end - 1] == ' ' && !is_digit(text[end])) --end;
      if (end > at) cost += 100;
      end = std::max(end, at + 1);
    } else {
      end = run_end(text, at, is_mark);
      // The last mark before a word belongs to the word.
      if (end - at > 1 && end < text.size() && is_letter(text[end])) --end;
      cost += mark_cost(end - at);
      end = run_end(text, end, [](char each) { return each == '\n' || each == '\r'; });
    }
    at = end;
  }
  // The averages miss some of what long names cost.
  return (cost * 106 / 100 + 99) / 100;
}

}  // namespace kw::pairs
