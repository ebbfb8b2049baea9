#include "llm/overflow.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"

namespace kw::llm {
namespace {

// An answer with fewer holds no kernel.
constexpr std::uint64_t least_answer_tokens = 64;

// "4,096" too. More digits than a context can have are no number.
std::optional<std::uint64_t> number_at(std::string_view text, std::size_t at) {
  std::uint64_t number = 0;
  std::size_t digits = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == ',' && digits > 0)); ++at) {
    if (text[at] == ',') continue;
    number = number * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (++digits > 12) return {};
  }
  return digits > 0 ? std::optional(number) : std::nullopt;
}

// The first number close behind one of the phrases.
std::optional<std::uint64_t> after(std::string_view text, std::initializer_list<std::string_view> phrases) {
  constexpr std::size_t gap = 16;
  for (std::string_view phrase : phrases)
    for (std::size_t at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
      std::size_t from = at + phrase.size();
      std::size_t digit = text.find_first_of("0123456789", from);
      if (digit == std::string_view::npos || digit - from > gap) continue;
      if (auto number = number_at(text, digit)) return number;
    }
  return {};
}

// The number just before one of the phrases: "4000 in the messages".
std::optional<std::uint64_t> before(std::string_view text, std::initializer_list<std::string_view> phrases) {
  for (std::string_view phrase : phrases)
    for (std::size_t at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
      std::size_t end = at;
      while (end > 0 && text[end - 1] == ' ') --end;
      std::size_t begin = end;
      while (begin > 0 && (is_digit(text[begin - 1]) || text[begin - 1] == ',')) --begin;
      if (begin == end) continue;
      if (auto number = number_at(text, begin)) return number;
    }
  return {};
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> phrases) {
  return std::ranges::any_of(phrases,
                             [&](std::string_view p) { return text.find(p) != std::string_view::npos; });
}

bool is_overflow(const ServerError& error, std::string_view text) {
  if (has_any(lower(error.code), {"context_length_exceeded", "string_above_max_length"})) return true;
  if (has_any(lower(error.type), {"exceed_context_size"})) return true;
  if (has_any(text, {"max_tokens", "max_completion_tokens"}) && has_any(text, {"too large", "too high"}))
    return true;
  bool context = has_any(text, {"context length", "context size", "context window", "context limit",
                                "maximum model length", "max_model_len", "maximum sequence length"});
  bool over = has_any(text, {"exceed", "longer than", "too long", "too large", "reduce the length", "however",
                             "is full", "does not fit", "larger than", "greater than"});
  return (context && over) || has_any(text, {"prompt is too long", "input is too long", "too many tokens"});
}

}  // namespace

std::optional<Overflow> overflow_in(const ServerError& error) {
  std::string text = lower(error.message);
  if (error.status == 429 || !is_overflow(error, text)) return {};
  Overflow overflow{.context = error.context_tokens, .prompt = error.prompt_tokens, .answer = {}};
  if (!overflow.context)
    overflow.context = after(text, {"context length", "context size", "context window", "context limit",
                                    "maximum model length", "max_model_len", "maximum sequence length"});
  if (!overflow.context) overflow.context = before(text, {"maximum"});
  if (!overflow.prompt)
    overflow.prompt = before(text, {"in the messages", "in the prompt", "input tokens", "prompt tokens",
                                    "tokens from the input", "tokens in the messages"});
  if (!overflow.prompt)
    overflow.prompt =
        after(text, {"prompt (length", "the input (", "request (", "prompt is too long:", "prompt contains"});
  if (has_any(text, {"completion tokens"})) overflow.answer = after(text, {"at most"});
  return overflow;
}

std::optional<std::uint64_t> shrunk(const Overflow& overflow, std::optional<std::uint64_t> asked) {
  std::optional<std::uint64_t> left = overflow.answer;
  if (overflow.context && overflow.prompt) {
    std::uint64_t room = *overflow.context - std::min(*overflow.context, *overflow.prompt);
    left = left ? std::min(*left, room) : room;
  }
  if (!asked && !left) return {};
  // Without numbers, or with numbers by which it should have fitted.
  if (!left || (asked && *left >= *asked)) left = *asked / 2;
  if (*left < std::min(least_answer_tokens, asked.value_or(least_answer_tokens))) return {};
  return left;
}

}  // namespace kw::llm
