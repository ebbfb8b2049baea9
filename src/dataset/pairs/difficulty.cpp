#include "dataset/pairs/difficulty.h"

#include <algorithm>
#include <bit>
#include <string>

#include "dataset/pairs/code_text.h"
#include "dataset/pairs/profile.h"
#include "dataset/pairs/token_estimate.h"
#include "dataset/units/code_words.h"

namespace kw::pairs {
namespace {

// Lines with code, of a text without comments and strings.
std::uint64_t code_lines(std::string_view code, harvest::Language language) {
  std::uint64_t lines = 0;
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size());
    if (holds_code(code.substr(0, end), language)) ++lines;
    code.remove_prefix(std::min(end + 1, code.size()));
  }
  return lines;
}

}  // namespace

corpus::Difficulty difficulty_of(std::string_view completion, harvest::Language language,
                                 std::uint64_t occurrences) {
  const auto syntax = language == harvest::Language::cuda ? corpus::Syntax::cuda : corpus::Syntax::python;
  const std::string code = corpus::without_words(completion, syntax);
  return {.operations = static_cast<std::uint64_t>(std::popcount(operations_in(code))),
          .lines = code_lines(code, language),
          .tokens = estimated_tokens(completion),
          .occurrences = occurrences};
}

}  // namespace kw::pairs
