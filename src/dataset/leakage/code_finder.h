// Finds code in texts as it was written, whatever its comments and layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "code/similarity/code_tokens.h"

namespace kw::leak {

class CodeFinder {
 public:
  // Shorter code is in many texts by chance.
  static constexpr std::size_t least_tokens = 16;

  // False if the code has fewer than `least` tokens (which are least_tokens or more): then it is not
  // searched for.
  bool add(std::string_view code, near::Language language, std::uint32_t number,
           std::size_t least = least_tokens);

  // The numbers of the codes that the text contains with the same tokens, sorted, each once. May be called
  // from several threads.
  std::vector<std::uint32_t> find(std::string_view text, near::Language language) const;

 private:
  struct Code {
    std::size_t tokens = 0;
    std::uint64_t hash = 0;
    std::uint32_t number = 0;
  };
  std::unordered_map<std::uint64_t, std::vector<Code>> by_beginning_;
};

}  // namespace kw::leak
