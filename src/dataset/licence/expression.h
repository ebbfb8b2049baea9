// SPDX licence expressions: AND, OR, WITH, parentheses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw::licence {

struct Expression {
  enum class Kind { id, all, any };
  Kind kind = Kind::id;
  std::string id;         // canonical: "Apache-2.0", "GPL-3.0-only"
  std::string exception;  // of WITH; empty: none
  std::vector<Expression> parts;
};

// Empty if the text is not an expression. Corrects letter case and deprecated ids: "apache-2.0", "GPL-3.0+".
std::optional<Expression> parse_expression(std::string_view text);

std::string to_string(const Expression& expression);

// An expression, or a licence's usual name ("Apache 2.0", "BSD 3-Clause License"), as an expression.
std::optional<std::string> as_expression(std::string_view text);

// All of them: "A AND B", each operand once; empty if one of them is empty.
std::string both(const std::vector<std::string>& expressions);
// Any of them: "A OR B".
std::string either(const std::vector<std::string>& expressions);

// Whether the first expression includes the second: all ids of the second are ids of the first, ignoring
// later versions and exceptions.
bool says_as_much(std::string_view first, std::string_view second);

}  // namespace kw::licence
