// The operations of a piece of code: two texts with nearly equal words may compute different things.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kw::near {

struct Operations {
  std::vector<std::string>
      calls;  // names of called functions that the text does not define; sorted, each once
  std::vector<std::string>
      words;               // operators, constants, and names that no author chose; sorted, with repetition
  std::size_t tokens = 0;  // without comments and layout; a comparison such as <= is one
};

Operations operations_of(std::string_view text);

// Whether two near copies do different operations: each calls a function that the other does not call, or the
// texts have equally many tokens and differ in operators or constants. Names of variables do not count. A
// copy with a statement more does the operations of the other one.
bool differ(const Operations& a, const Operations& b);

}  // namespace kw::near
