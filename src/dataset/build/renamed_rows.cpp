#include "dataset/build/renamed_rows.h"

#include <cstddef>
#include <string_view>

#include "base/core/crypto.h"
#include "code/similarity/code_tokens.h"
#include "dataset/units/row.h"

namespace kw::dataset {
namespace {

// Of fewer tokens, a name may be all that the answer says.
constexpr std::size_t least_renamed_tokens = 8;

// No name that an author chose: it stays, and so keeps the end of the prompt in its place.
constexpr std::string_view end_of_prompt = "\n__completion__\n";

// Code has no two own names side by side, except C++ a type and its variable.
bool is_prose(std::string_view text, near::Language language) {
  const std::size_t most = language == near::Language::cpp ? 3 : 1;
  std::size_t names = 0;
  std::size_t end = 0;
  for (const near::Token& token : near::code_tokens(text, language)) {
    const std::string_view between = text.substr(end, token.begin - end);
    if (!token.is_own_name || between.find('\n') != std::string_view::npos) names = 0;
    if (token.is_own_name && ++names > most) return true;
    end = token.end;
  }
  return false;
}

}  // namespace

std::string renamed_key(const table::TextRow& row) {
  const near::Language language = near::language_of(row.prompt + "\n" + row.completion);
  if (near::code_tokens(row.completion, language).size() < least_renamed_tokens) return {};
  if (is_prose(row.completion, language)) return {};
  if (is_prose(row.prompt, language))
    return sha256_hex_of({corpus::row_key(row.prompt, ""), near::renamed_sha1(row.completion)});
  return near::renamed_sha1(row.prompt + std::string(end_of_prompt) + row.completion);
}

}  // namespace kw::dataset
