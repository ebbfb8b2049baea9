#include "code/similarity/code_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "code/similarity/operations.h"

namespace kw::near {
namespace {

constexpr std::array python_starts{"def ",        "class ",  "async def ", "import ", "from ",   "@",
                                   "if __name__", "return ", "elif ",      "with ",   "assert ", "raise "};
constexpr std::array cpp_starts{"#include", "#define",    "#pragma",    "#if",    "#endif",
                                "template", "__global__", "__device__", "//",     "/*",
                                "extern ",  "using ",     "static ",    "struct "};

template <std::size_t Size>
bool starts_with_any(std::string_view line, const std::array<const char*, Size>& starts) {
  return std::ranges::any_of(starts, [&](const char* start) { return line.starts_with(start); });
}

// Over 0: C++; below 0: Python.
int leaning(std::string_view line) {
  if (line.empty()) return 0;
  if (starts_with_any(line, cpp_starts)) return 1;
  char last = line.back();
  if (last == ';' || last == '{' || line == "}") return 1;
  if (starts_with_any(line, python_starts) || last == ':') return -1;
  return line.starts_with('#') ? -1 : 0;
}

bool opens_or_closes_long_string(std::string_view line) {
  std::size_t marks = 0;
  for (std::string_view mark : {R"(""")", "'''"})
    for (std::size_t at = line.find(mark); at != std::string_view::npos; at = line.find(mark, at + 3))
      ++marks;
  return marks % 2 == 1;
}

}  // namespace

Language language_of(std::string_view text) {
  int sum = 0;
  bool in_long_string = false;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!in_long_string) sum += leaning(line);
    in_long_string ^= opens_or_closes_long_string(line);
  }
  return sum > 0 ? Language::cpp : Language::python;
}

bool is_string(std::string_view token) {
  std::size_t quote = token.find_first_of("\"'");
  return quote <= 3 &&
         std::ranges::all_of(token.substr(0, quote), [](char c) { return is_letter(c) || c == '8'; });
}

std::string plain_string(std::string_view literal) {
  std::size_t quote = literal.find_first_of("\"'");
  std::string plain;
  for (char c : literal.substr(0, quote)) {
    char small = lower(c);
    if (small != 'u') plain += small;
  }
  std::ranges::sort(plain);
  std::string_view inside = literal.substr(quote);
  std::size_t marks = inside.size() >= 6 && inside[1] == inside[0] && inside[2] == inside[0] ? 3 : 1;
  char mark = inside[0];
  inside.remove_prefix(std::min(marks, inside.size()));
  if (inside.size() >= marks && inside.back() == mark) inside.remove_suffix(marks);
  plain += '"';
  for (std::size_t i = 0; i < inside.size(); ++i) {
    bool escaped_quote =
        inside[i] == '\\' && i + 1 < inside.size() && (inside[i + 1] == '"' || inside[i + 1] == '\'');
    if (!escaped_quote) plain += inside[i];
  }
  plain += '"';
  return plain;
}

namespace {

const std::unordered_set<std::string_view>& keywords() {
  static const std::unordered_set<std::string_view> words{
      // Python
      "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
      "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
      "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "self",
      "cls",
      // C++
      "alignas", "alignof", "asm", "auto", "bool", "case", "catch", "char", "concept", "const", "consteval",
      "constexpr", "constinit", "const_cast", "decltype", "default", "delete", "do", "double", "dynamic_cast",
      "enum", "explicit", "export", "extern", "false", "float", "friend", "goto", "inline", "int", "long",
      "mutable", "namespace", "new", "noexcept", "nullptr", "operator", "private", "protected", "public",
      "register", "reinterpret_cast", "requires", "restrict", "short", "signed", "sizeof", "static",
      "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true",
      "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
      // the preprocessor's
      "define", "defined", "endif", "error", "ifdef", "ifndef", "include", "once", "pragma", "undef",
      "unroll"};
  return words;
}

const std::unordered_set<std::string_view>& python_names() {
  static const std::unordered_set<std::string_view> words{
      // builtins
      "abs", "all", "any", "bytes", "callable", "complex", "dict", "dir", "divmod", "enumerate", "eval",
      "exec", "filter", "format", "frozenset", "getattr", "globals", "hasattr", "hash", "hex", "id", "input",
      "isinstance", "issubclass", "iter", "len", "list", "locals", "map", "max", "min", "next", "object",
      "open", "ord", "pow", "print", "property", "range", "repr", "reversed", "round", "set", "setattr",
      "slice", "sorted", "staticmethod", "classmethod", "str", "sum", "super", "tuple", "type", "vars", "zip",
      "Exception", "AssertionError", "AttributeError", "ImportError", "IndexError", "KeyError",
      "NotImplemented", "NotImplementedError", "RuntimeError", "StopIteration", "TypeError", "ValueError",
      // modules, and names that are imported from them
      "triton", "tl", "language", "libdevice", "gl", "gluon", "torch", "nn", "F", "np", "numpy", "math",
      "jax", "jnp", "os", "sys", "re", "time", "json", "copy", "random", "logging", "warnings", "functools",
      "itertools", "contextlib", "dataclasses", "dataclass", "collections", "pathlib", "typing", "inspect",
      "partial", "lru_cache", "wraps", "Any", "Callable", "Dict", "List", "Literal", "Optional", "Sequence",
      "Tuple", "Union", "Tensor", "Module", "Parameter", "autograd", "einops", "rearrange", "einsum",
      "pytest"};
  return words;
}

const std::unordered_set<std::string_view>& cuda_names() {
  static const std::unordered_set<std::string_view> words{
      "blockIdx", "blockDim", "threadIdx", "gridDim", "warpSize", "dim3", "half", "half2", "float2", "float3",
      "float4", "double2", "int2", "int3", "int4", "uint2", "uint3", "uint4", "uint", "size_t", "ptrdiff_t",
      "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t",
      "nv_bfloat16", "nv_bfloat162", "bfloat16", "std", "at", "c10", "cub", "thrust", "cutlass", "cute",
      "wmma", "mma", "cooperative_groups", "cg", "printf", "assert", "INFINITY", "NAN", "FLT_MAX", "FLT_MIN",
      "FLT_EPSILON", "INT_MAX", "INT_MIN", "NULL", "memcpy", "memset", "malloc", "free", "make_float2",
      "make_float3", "make_float4", "make_int2", "make_int4", "make_uint2", "make_uint4", "make_half2",
      // arithmetic, of float and of double
      "acos", "acosf", "asin", "asinf", "atan", "atan2", "atan2f", "atanf", "cbrt", "cbrtf", "ceil", "ceilf",
      "cos", "cosf", "cosh", "coshf", "erf", "erfc", "erfcf", "erff", "exp", "exp10", "exp10f", "exp2",
      "exp2f", "expf", "expm1", "expm1f", "fabs", "fabsf", "floor", "floorf", "fma", "fmaf", "fmax", "fmaxf",
      "fmin", "fminf", "fmod", "fmodf", "hypot", "hypotf", "isfinite", "isinf", "isnan", "log", "log10",
      "log10f", "log1p", "log1pf", "log2", "log2f", "logf", "lrint", "lrintf", "nearbyintf", "normcdf",
      "powf", "rcbrt", "rint", "rintf", "roundf", "rsqrt", "rsqrtf", "sin", "sincosf", "sinf", "sinh",
      "sinhf", "sqrt", "sqrtf", "tan", "tanf", "tanh", "tanhf", "trunc", "truncf"};
  return words;
}

}  // namespace

bool is_known_name(std::string_view name) {
  for (std::string_view start : {"__", "atomic", "cuda", "cublas", "cudnn"})
    if (name.starts_with(start)) return true;
  return keywords().contains(name) || python_names().contains(name) || cuda_names().contains(name);
}

namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool begins_name(char c) {
  return is_letter(c) || c == '_' || static_cast<unsigned char>(c) > 127;
}

enum class Bracket : char { other, call, library_call };

// Scans the text once, in linear time: it looks ahead only as far as it then advances.
class Scanner {
 public:
  Scanner(std::string_view text, Language language)
      : text_(text.substr(0, std::numeric_limits<std::uint32_t>::max())), language_(language) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    end_statement();
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool python() const { return language_ == Language::python; }

  void step() {
    char c = peek();
    if (c == '\n' || is_space(c)) return pass_space(c);
    if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\n' ? 2 : 3;
      return;
    }
    if (pass_comment()) return;
    std::size_t begin = at_;
    if (std::size_t prefix = string_prefix(); prefix != none) {
      read_string(prefix);
      return add(begin);
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      read_number();
      return add(begin);
    }
    if (begins_name(c)) {
      while (begins_name(peek()) || is_digit(peek())) ++at_;
      bool own = chosen(text_.substr(begin, at_ - begin));
      return add(begin, own);
    }
    ++at_;
    read_punctuation(c, begin);
  }

  void pass_space(char c) {
    ++at_;
    if (c != '\n') return;
    in_include_ = false;
    if (open_.empty()) end_statement();
  }

  bool pass_comment() {
    bool to_line_end = python() ? peek() == '#' : peek() == '/' && peek(1) == '/';
    bool to_mark = !python() && peek() == '/' && peek(1) == '*';
    if (!to_line_end && !to_mark) return false;
    std::size_t end = to_mark ? text_.find("*/", at_ + 2) : text_.find('\n', at_);
    if (to_mark && end != std::string_view::npos) end += 2;
    at_ = std::min(end, text_.size());
    return true;
  }

  // The number of letters before the quote of a string literal that begins here; `none` if no literal begins.
  std::size_t string_prefix() const {
    for (std::size_t size = 0; size <= 3; ++size) {
      char c = peek(size);
      if (c == '"' || c == '\'') return size;
      constexpr std::string_view letters = "rRbBuUfFL8";
      if (c == '\0' || !letters.contains(c)) return none;
    }
    return none;
  }

  void read_string(std::size_t prefix) {
    bool raw_cpp = !python() && prefix > 0 && peek(prefix - 1) == 'R' && peek(prefix) == '"';
    at_ += prefix;
    char quote = peek();
    if (raw_cpp) return read_raw_string();
    bool is_long = python() && peek(1) == quote && peek(2) == quote;
    at_ += is_long ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (peek() == '\\') {
        ++at_;
        continue;
      }
      if (is_long ? text_.substr(at_, 3) == std::string(3, quote) : peek() == quote) break;
      if (!is_long && peek() == '\n') return;  // unclosed: it ends with its line
    }
    at_ = std::min(at_ + (is_long ? 3 : 1), text_.size());
  }

  void read_raw_string() {
    constexpr std::size_t max_delimiter = 16;
    std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ - 1 > max_delimiter) {
      ++at_;
      return;
    }
    std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    std::size_t end = text_.find(close, open);
    at_ = end == std::string_view::npos ? text_.size() : end + close.size();
  }

  void read_number() {
    bool hexadecimal = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
    for (++at_; at_ < text_.size(); ++at_) {
      char c = peek();
      char before = text_[at_ - 1];
      bool exponent_sign = (c == '+' || c == '-') && !hexadecimal && (before == 'e' || before == 'E');
      bool separator = c == '\'' && !python() && (is_digit(peek(1)) || begins_name(peek(1)));
      if (!begins_name(c) && !is_digit(c) && c != '.' && !exponent_sign && !separator) return;
    }
  }

  void read_punctuation(char c, std::size_t begin) {
    if (c == '(' || c == '[' || c == '{') open_.push_back(c == '(' ? round_bracket() : Bracket::other);
    if (c == ')' || c == ']' || c == '}') {
      if (!open_.empty()) open_.pop_back();
      if (last_word(1) == ",") tokens_.pop_back();
    }
    if (c == '=' && peek() != '=') note_keyword_argument();
    add(begin);
    if (c == ';' && open_.empty()) statement_ = tokens_.size();
  }

  // The kind of an opening parenthesis after the tokens so far.
  Bracket round_bracket() const {
    std::string_view callee = last_word(1);
    if (!python() || callee.empty() || last_word(2) == "def") return Bracket::other;
    if (begins_name(callee[0]))
      return last_word(2) == "." || is_known_name(callee) ? Bracket::library_call : Bracket::call;
    return callee == "]" || callee == ")" ? Bracket::call : Bracket::other;
  }

  void note_keyword_argument() {
    if (open_.empty() || open_.back() == Bracket::other) return;
    if (last_word(2) != "(" && last_word(2) != ",") return;
    Token& name = tokens_.back();
    name.is_own_name = name.is_own_name && open_.back() == Bracket::call;
    name.is_keyword_argument = name.is_own_name;
  }

  void add(std::size_t begin, bool own = false) {
    std::string_view word_here = text_.substr(begin, at_ - begin);
    if (word_here == "include" && !tokens_.empty() && word(tokens_.back()) == "#") in_include_ = true;
    tokens_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_), own});
  }

  // Drops a statement that is only a string: a docstring or comment.
  void end_statement() {
    std::size_t size = tokens_.size() - std::min(statement_, tokens_.size());
    if (python() && size == 1 && is_string(word(tokens_.back())) && !is_formatted(word(tokens_.back())))
      tokens_.pop_back();
    statement_ = tokens_.size();
  }

  static bool is_formatted(std::string_view literal) {
    return literal.substr(0, literal.find_first_of("\"'")).find_first_of("fF") != std::string_view::npos;
  }

  std::string_view word(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }
  std::string_view last_word(std::size_t from_end) const {
    return tokens_.size() < from_end ? std::string_view() : word(tokens_[tokens_.size() - from_end]);
  }

  // A member's name may come from a library's class; members of self are the author's.
  bool chosen(std::string_view name) const {
    if (in_include_) return false;
    std::string_view before = last_word(1);
    if (before == ".") return last_word(2) == "self" && !name.starts_with("__");
    if (before == ">" && last_word(2) == "-" && !python())
      return last_word(3) == "this" && tokens_[tokens_.size() - 2].end == tokens_.back().begin;
    if (before == ":" && last_word(2) == ":" && tokens_[tokens_.size() - 2].end == tokens_.back().begin)
      return false;
    return !is_known_name(name);
  }

  static constexpr std::size_t none = std::string_view::npos;

  std::string_view text_;
  Language language_;
  std::size_t at_ = 0;
  std::vector<Bracket> open_;
  std::size_t statement_ = 0;  // the token with which the statement begins
  bool in_include_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> code_tokens(std::string_view text) {
  return code_tokens(text, language_of(text));
}

std::vector<Token> code_tokens(std::string_view text, Language language) {
  return Scanner(text, language).run();
}

namespace {

using Words = std::vector<std::string_view>;

// The number of the token after the bracket that closes the one at `open`.
std::size_t after_bracket(const Words& words, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < words.size(); ++i) {
    if (words[i] == "(" || words[i] == "[" || words[i] == "{") ++depth;
    if ((words[i] == ")" || words[i] == "]" || words[i] == "}") && --depth == 0) return i + 1;
  }
  return words.size();
}

bool is_word(std::string_view word) {
  return !word.empty() && begins_name(word[0]);
}

// In C++ a name between a type and a bracket, or between a bracket and a block.
bool defines(const Words& words, std::size_t at, Language language) {
  constexpr std::array no_types{"return", "else", "do",  "case", "throw",
                                "and",    "or",   "not", "new",  "co_return"};
  std::string_view before = at == 0 ? std::string_view() : words[at - 1];
  if (language == Language::python) return before == "def" || before == "class";
  if (is_word(before)) return std::ranges::find(no_types, before) == no_types.end();
  std::size_t after = after_bracket(words, at + 1);
  return after < words.size() && words[after] == "{";
}

// Whether the name at that place is only called: f(...), f[grid](...).
bool is_called(const Words& words, std::size_t at, Language language) {
  std::string_view next = at + 1 < words.size() ? words[at + 1] : std::string_view();
  if (next == "[" && language == Language::python) {
    std::size_t after = after_bracket(words, at + 1);
    return after < words.size() && words[after] == "(";
  }
  return next == "(" && !defines(words, at, language);
}

// By token: whether it is an argument of a call whose function takes a function.
std::vector<bool> given_to_reductions(const Words& words) {
  constexpr std::array names{"reduce", "associative_scan", "map_elementwise"};
  std::vector<bool> given(words.size());
  for (std::size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i + 1] != "(" || words[i - 1] != "." || std::ranges::find(names, words[i]) == names.end())
      continue;
    std::size_t end = after_bracket(words, i + 1);
    for (std::size_t k = i + 2; k + 1 < end && k + 1 < words.size(); ++k) {
      bool begins = words[k - 1] == "(" || words[k - 1] == "," || words[k - 1] == "=";
      given[k] = given[k] || (begins && (words[k + 1] == "," || words[k + 1] == ")"));
    }
    i += 1;
  }
  return given;
}

// Names of functions that the text uses and does not define, nor assigns or takes as a parameter: those that
// stand in no other place.
std::unordered_set<std::string_view> foreign_functions(const std::vector<Token>& tokens, const Words& words,
                                                       Language language) {
  std::unordered_set<std::string_view> called;
  std::unordered_set<std::string_view> others;
  const auto given = given_to_reductions(words);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is_own_name || tokens[i].is_keyword_argument || (i > 0 && words[i - 1] == ".")) continue;
    (given[i] || is_called(words, i, language) ? called : others).insert(words[i]);
  }
  std::erase_if(called, [&](std::string_view name) { return others.contains(name); });
  return called;
}

}  // namespace

namespace {

// Brackets and separators say nothing about the operation; neither does an assignment.
bool is_structure(std::string_view word) {
  constexpr std::string_view marks = "()[]{},;:.=@#\\";
  return word.size() == 1 && marks.contains(word[0]);
}

// Texts for people have spaces; "-inf" has none.
bool is_message(std::string_view word) {
  return is_string(word) && word.find_first_of(" \t\n") != std::string_view::npos;
}

void sort_and_unite(std::vector<std::string>& names) {
  std::ranges::sort(names);
  auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
}

// Whether each of two sorted ranges has an element that the other one lacks.
bool each_has_more(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return !std::ranges::includes(a, b) && !std::ranges::includes(b, a);
}

}  // namespace

Operations operations_of(std::string_view text) {
  const Language language = language_of(text);
  const auto tokens = code_tokens(text, language);
  Words words;
  for (const Token& token : tokens) words.push_back(text.substr(token.begin, token.end - token.begin));
  const auto foreign = foreign_functions(tokens, words, language);
  Operations operations;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ++operations.tokens;
    const bool is_own = tokens[i].is_own_name && !foreign.contains(words[i]);
    if (is_own || is_message(words[i])) continue;
    if (is_word(words[i]) && (tokens[i].is_own_name || is_called(words, i, language)))
      operations.calls.emplace_back(words[i]);
    // "<" and "=" beside each other are one operator.
    const bool is_compared = i + 1 < tokens.size() && words[i + 1] == "=" &&
                             tokens[i].end == tokens[i + 1].begin &&
                             std::string_view("=<>!").contains(words[i]);
    if (is_compared)
      operations.words.push_back(std::string(words[i++]) + "=");
    else if (!is_structure(words[i]))
      operations.words.push_back(is_string(words[i]) ? plain_string(words[i]) : std::string(words[i]));
  }
  sort_and_unite(operations.calls);
  std::ranges::sort(operations.words);
  return operations;
}

bool differ(const Operations& a, const Operations& b) {
  return each_has_more(a.calls, b.calls) || (a.tokens == b.tokens && each_has_more(a.words, b.words));
}

std::string renamed_sha1(std::string_view text) {
  const Language language = language_of(text);
  const auto tokens = code_tokens(text, language);
  Words words;
  for (const Token& token : tokens) words.push_back(text.substr(token.begin, token.end - token.begin));
  const auto foreign = foreign_functions(tokens, words, language);
  // Variables, members of self and names of arguments: an equal word is a different name in each.
  std::array<std::unordered_map<std::string_view, std::size_t>, 3> tables;
  std::string plain;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_member = i > 0 && words[i - 1] == ".";
    const bool is_variable = !tokens[i].is_keyword_argument && !is_member;
    if (tokens[i].is_own_name && !(is_variable && foreign.contains(words[i]))) {
      unsigned kind = tokens[i].is_keyword_argument ? 2 : is_member ? 1 : 0;
      std::size_t ordinal = tables[kind].try_emplace(words[i], tables[kind].size()).first->second;
      fmt::format_to(std::back_inserter(plain), "\1{}.{}", kind, ordinal);
    } else if (language == Language::python && is_string(words[i])) {
      plain += plain_string(words[i]);
    } else {
      plain += words[i];
    }
    plain += '\n';
  }
  return sha1_hex(plain);
}

}  // namespace kw::near
