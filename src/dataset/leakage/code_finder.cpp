#include "dataset/leakage/code_finder.h"

#include <algorithm>

#include "dataset/leakage/words.h"

namespace kw::leak {
namespace {

constexpr std::uint64_t base = 0x9e3779b97f4a7c15U;  // odd: a polynomial modulo 2^64

// Hashes of any run of a text's tokens in constant time.
class RunHashes {
 public:
  RunHashes(std::string_view text, near::Language language) {
    auto tokens = near::code_tokens(text, language);
    auto word = [&](const near::Token& token) { return text.substr(token.begin, token.end - token.begin); };
    // Before a closing bracket, which may follow the end of the text, a comma is not a token.
    while (!tokens.empty() && word(tokens.back()) == ",") tokens.pop_back();
    prefixes_.reserve(tokens.size() + 1);
    prefixes_.push_back(0);
    powers_.push_back(1);
    for (const near::Token& token : tokens) {
      prefixes_.push_back(prefixes_.back() * base + hash_bytes(word(token)));
      powers_.push_back(powers_.back() * base);
    }
  }

  std::size_t tokens() const { return prefixes_.size() - 1; }
  std::uint64_t run(std::size_t first, std::size_t count) const {
    return mix(prefixes_[first + count] - prefixes_[first] * powers_[count]);
  }

 private:
  std::vector<std::uint64_t> prefixes_;
  std::vector<std::uint64_t> powers_;
};

}  // namespace

bool CodeFinder::add(std::string_view code, near::Language language, std::uint32_t number,
                     std::size_t least) {
  RunHashes hashes(code, language);
  if (hashes.tokens() < std::max(least, least_tokens)) return false;
  by_beginning_[hashes.run(0, least_tokens)].push_back(
      {hashes.tokens(), hashes.run(0, hashes.tokens()), number});
  return true;
}

std::vector<std::uint32_t> CodeFinder::find(std::string_view text, near::Language language) const {
  std::vector<std::uint32_t> found;
  if (by_beginning_.empty()) return found;
  RunHashes hashes(text, language);
  for (std::size_t at = 0; at + least_tokens <= hashes.tokens(); ++at) {
    auto codes = by_beginning_.find(hashes.run(at, least_tokens));
    if (codes == by_beginning_.end()) continue;
    for (const Code& code : codes->second)
      if (at + code.tokens <= hashes.tokens() && hashes.run(at, code.tokens) == code.hash)
        found.push_back(code.number);
  }
  std::ranges::sort(found);
  auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

}  // namespace kw::leak
