#include "near/renamed.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "base/hash.h"
#include "near/code_text.h"

namespace kw::near {

std::string renamed_sha1(std::string_view text) {
  auto tokens = code_tokens(text);
  bool python = language_of(text) == Language::python;
  // A variable, what hangs on self, and an argument's name are three names though they be one word.
  std::array<std::unordered_map<std::string_view, std::size_t>, 3> tables;
  std::string plain;
  std::string_view before;
  for (const Token& token : tokens) {
    std::string_view word = text.substr(token.begin, token.end - token.begin);
    if (token.is_own_name) {
      unsigned kind = token.is_keyword_argument ? 2 : before == "." ? 1 : 0;
      std::size_t ordinal = tables[kind].try_emplace(word, tables[kind].size()).first->second;
      fmt::format_to(std::back_inserter(plain), "\1{}.{}", kind, ordinal);
    } else if (python && is_string(word)) {
      plain += plain_string(word);
    } else {
      plain += word;
    }
    plain += '\n';
    before = word;
  }
  return sha1_hex(plain);
}

}  // namespace kw::near
