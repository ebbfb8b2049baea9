#include "dataset/licence/expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "dataset/licence/licence.h"
#include "dataset/licence/names.h"

namespace kw::licence {
namespace {

constexpr std::size_t max_expression_bytes = 2'000;
constexpr unsigned max_depth = 32;

bool is_id_byte(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '-' || c == '+' || c == ':';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) { step(); }

  std::optional<Expression> all() {
    auto whole = any(0);
    if (!whole || !token_.empty() || bad_) return std::nullopt;
    return whole;
  }

 private:
  void step() {
    rest_ = trim(rest_);
    if (rest_.empty()) {
      token_ = {};
      return;
    }
    std::size_t length = 0;
    while (length < rest_.size() && is_id_byte(rest_[length])) ++length;
    if (length == 0) {
      bad_ = bad_ || (rest_.front() != '(' && rest_.front() != ')');
      length = 1;
    }
    token_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  bool at(std::string_view word) const { return lower(token_) == word; }

  std::optional<Expression> list(Expression::Kind kind, std::string_view word, unsigned depth) {
    Expression result{.kind = kind, .id = {}, .exception = {}, .parts = {}};
    while (true) {
      auto part = kind == Expression::Kind::any ? list(Expression::Kind::all, "and", depth) : one(depth);
      if (!part) return std::nullopt;
      result.parts.push_back(std::move(*part));
      if (!at(word)) break;
      step();
    }
    if (result.parts.size() > 1) return result;
    Expression only = std::move(result.parts.front());
    return only;
  }

  std::optional<Expression> any(unsigned depth) {
    if (depth > max_depth) return std::nullopt;
    return list(Expression::Kind::any, "or", depth);
  }

  std::optional<Expression> one(unsigned depth) {
    if (bad_ || token_.empty() || token_ == ")" || at("and") || at("or") || at("with")) return std::nullopt;
    if (token_ == "(") {
      step();
      auto inner = any(depth + 1);
      if (!inner || token_ != ")") return std::nullopt;
      step();
      return inner;
    }
    Expression id{.kind = Expression::Kind::id, .id = canonical_id(token_), .exception = {}, .parts = {}};
    step();
    if (at("with")) {
      step();
      if (token_.empty() || token_ == "(" || token_ == ")") return std::nullopt;
      const std::string known = canonical_exception(token_);
      id.exception = known.empty() ? std::string(token_) : known;
      step();
    }
    return id;
  }

  std::string_view rest_;
  std::string_view token_;
  bool bad_ = false;
};

void print(const Expression& expression, bool inside_all, std::string& out) {
  if (expression.kind == Expression::Kind::id) {
    out += expression.id;
    if (!expression.exception.empty()) out += " WITH " + expression.exception;
    return;
  }
  const bool any = expression.kind == Expression::Kind::any;
  if (any && inside_all) out += '(';
  for (std::size_t i = 0; i < expression.parts.size(); ++i) {
    if (i > 0) out += any ? " OR " : " AND ";
    print(expression.parts[i], !any, out);
  }
  if (any && inside_all) out += ')';
}

std::string join(Expression::Kind kind, const std::vector<std::string>& expressions) {
  Expression whole{.kind = kind, .id = {}, .exception = {}, .parts = {}};
  std::vector<std::string> seen;
  const auto add = [&](Expression part) {
    std::string text = to_string(part);
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) return;
    seen.push_back(std::move(text));
    whole.parts.push_back(std::move(part));
  };
  for (const std::string& text : expressions) {
    auto part = parse_expression(text);
    if (!part) return {};
    if (part->kind == kind)
      for (Expression& inner : part->parts) add(std::move(inner));
    else
      add(std::move(*part));
  }
  if (whole.parts.empty()) return {};
  return whole.parts.size() == 1 ? to_string(whole.parts.front()) : to_string(whole);
}

// The id without its suffix for later versions.
std::string family(std::string id) {
  for (const std::string_view end : {"-only", "-or-later", "+"})
    if (id.ends_with(end)) return id.substr(0, id.size() - end.size());
  return id;
}

void collect_ids(const Expression& expression, std::vector<std::string>& ids) {
  if (expression.kind == Expression::Kind::id) ids.push_back(family(expression.id));
  for (const Expression& part : expression.parts) collect_ids(part, ids);
}

bool listed(const std::string& id, const std::vector<std::string>& allow_list) {
  const auto is = [&](const std::string& wanted) {
    return std::any_of(allow_list.begin(), allow_list.end(),
                       [&](const std::string& each) { return lower(canonical_id(each)) == lower(wanted); });
  };
  if (is(id)) return true;
  // "Or later" includes this version.
  if (id.ends_with("-or-later")) return is(family(id) + "-only");
  return id.ends_with("+") && is(family(id));
}

bool met(const Expression& expression, const std::vector<std::string>& allow_list) {
  const auto each = [&](const Expression& part) { return met(part, allow_list); };
  switch (expression.kind) {
    case Expression::Kind::all:
      return std::all_of(expression.parts.begin(), expression.parts.end(), each);
    case Expression::Kind::any:
      return std::any_of(expression.parts.begin(), expression.parts.end(), each);
    case Expression::Kind::id:
      break;
  }
  if (expression.exception.empty()) return listed(expression.id, allow_list);
  const std::string whole = lower(to_string(expression));
  const bool named = std::any_of(allow_list.begin(), allow_list.end(), [&](const std::string& entry) {
    auto parsed = parse_expression(entry);
    return parsed && lower(to_string(*parsed)) == whole;
  });
  // A known exception only adds permissions.
  return named || (!canonical_exception(expression.exception).empty() && listed(expression.id, allow_list));
}

bool is_known(const Expression& expression) {
  if (expression.kind != Expression::Kind::id) return std::ranges::all_of(expression.parts, is_known);
  if (!expression.exception.empty() && canonical_exception(expression.exception).empty()) return false;
  return is_spdx_id(expression.id) || std::ranges::count(permissive(), expression.id) > 0 ||
         (expression.id.starts_with("LicenseRef-") &&
          expression.id.size() > std::string_view("LicenseRef-").size());
}

void add_restrictions(const Expression& expression, std::vector<std::string>& found) {
  for (const Expression& part : expression.parts) add_restrictions(part, found);
  std::string_view what = restriction_of(expression.id);
  if (!what.empty()) found.push_back(fmt::format("{} restricts {}", expression.id, what));
}

}  // namespace

std::vector<std::string> restrictions_in(std::string_view spdx) {
  std::vector<std::string> found;
  if (auto parsed = parse_expression(spdx)) add_restrictions(*parsed, found);
  return found;
}

std::optional<std::string> known_expression(std::string_view text) {
  auto parsed = parse_expression(text);
  if (!parsed || !is_known(*parsed)) return std::nullopt;
  return to_string(*parsed);
}

std::optional<Expression> parse_expression(std::string_view text) {
  if (text.size() > max_expression_bytes) return std::nullopt;
  return Parser(text).all();
}

std::string to_string(const Expression& expression) {
  std::string out;
  print(expression, false, out);
  return out;
}

std::optional<std::string> as_expression(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.size() > max_expression_bytes) return std::nullopt;
  if (auto named = id_of_name(text)) return named;
  if (auto parsed = parse_expression(text)) return to_string(*parsed);
  return std::nullopt;
}

std::string both(const std::vector<std::string>& expressions) {
  return join(Expression::Kind::all, expressions);
}

std::string either(const std::vector<std::string>& expressions) {
  return join(Expression::Kind::any, expressions);
}

bool says_as_much(std::string_view first, std::string_view second) {
  const auto a = parse_expression(first);
  const auto b = parse_expression(second);
  if (!a || !b) return false;
  std::vector<std::string> of_first;
  std::vector<std::string> of_second;
  collect_ids(*a, of_first);
  collect_ids(*b, of_second);
  return std::all_of(of_second.begin(), of_second.end(), [&](const std::string& id) {
    return std::find(of_first.begin(), of_first.end(), id) != of_first.end();
  });
}

bool allowed(std::string_view spdx, const std::vector<std::string>& allow_list) {
  const auto parsed = parse_expression(spdx);
  return parsed && met(*parsed, allow_list);
}

const std::vector<std::string>& permissive() {
  static const std::vector<std::string> list = {
      "MIT",     "MIT-0",      "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD-1-Clause",
      "ISC",     "0BSD",       "Zlib",       "BSL-1.0",      "Unlicense",    "CC0-1.0",
      "PSF-2.0", "Python-2.0", "NCSA",       "HPND",         "X11",          "blessing",
      "WTFPL",   "PostgreSQL", "libpng-2.0", "Libpng",       "BlueOak-1.0.0"};
  return list;
}

}  // namespace kw::licence
