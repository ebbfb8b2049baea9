#include "dataset/leakage/symbols.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/core/text.h"
#include "code/similarity/code_tokens.h"
#include "dataset/leakage/words.h"

namespace kw::leak {
namespace {

bool begins_name(char c) {
  return is_letter(c) || c == '_' || static_cast<unsigned char>(c) > 127;
}

// Equal spellings for equal numbers: 1e-5, 1e-05 and 0.00001; 1_000 and 1000.
std::uint64_t hash_number(std::string_view token) {
  std::string digits;
  for (char c : token)
    if (c != '_') digits += c;
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return hash_bytes(digits);
  bool is_whole = digits.find_first_of(".eE") == std::string::npos;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return mix(bits ^ (is_whole ? 0x1f83d9abfb41bd6bU : 0x5be0cd19137e2179U));
}

// The string without its prefix and quotes.
std::string_view inside_quotes(std::string_view token) {
  std::size_t open = token.find_first_of("\"'");
  token.remove_prefix(open);
  char quote = token.front();
  std::size_t width = token.size() >= 6 && token[1] == quote && token[2] == quote ? 3 : 1;
  if (token.size() < 2 * width || token.back() != quote) return token.substr(1);
  return token.substr(width, token.size() - 2 * width);
}

bool is_string(std::string_view token) {
  std::size_t open = token.find_first_of("\"'");
  return open != std::string_view::npos && open <= 3 && (token.back() == '"' || token.back() == '\'');
}

// Builtin names that near::code_tokens may classify as the author's own.
bool is_everyones(std::string_view name) {
  static const std::unordered_set<std::string_view> builtins = {
      "abs",        "all",    "any",  "bool", "dict",  "enumerate", "float",    "getattr", "hasattr", "int",
      "isinstance", "len",    "list", "max",  "min",   "print",     "property", "range",   "repr",    "round",
      "set",        "sorted", "str",  "sum",  "super", "tuple",     "type",     "zip",     "object"};
  return (name.starts_with("__") && name.ends_with("__")) || builtins.contains(name);
}

// Usual module names. `import torch as th` may define others.
bool is_module(std::string_view name) {
  static const std::unordered_set<std::string_view> modules = {"torch", "nn", "F",     "triton",
                                                               "tl",    "np", "numpy", "math"};
  return modules.contains(name);
}

// Reads the tokens of one stretch of text into symbols.
class Reader {
 public:
  Reader(std::string_view text, std::vector<Symbol>& symbols) : text_(text), symbols_(symbols) {}

  void read(std::size_t base) {
    tokens_ = near::code_tokens(text_);
    find_selves();
    for (at_ = 0; at_ < tokens_.size(); ++at_) read_token(static_cast<std::uint32_t>(base));
  }

 private:
  std::string_view word(std::size_t i) const {
    if (i >= tokens_.size()) return {};
    return text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
  }
  bool is_sign(std::size_t i, char sign) const {
    std::string_view token = word(i);
    return token.size() == 1 && token[0] == sign;
  }

  // The names of the object in methods: self and cls, and the first parameter of each __init__.
  void find_selves() {
    selves_ = {"self", "cls"};
    for (std::size_t i = 1; i + 2 < tokens_.size(); ++i)
      if (word(i) == "__init__" && word(i - 1) == "def" && is_sign(i + 1, '(')) selves_.insert(word(i + 2));
  }

  void read_token(std::uint32_t base) {
    std::string_view token = word(at_);
    if (token.empty() || is_sign(at_, ';')) return;
    if (track_bracket(token)) return;
    Symbol symbol;
    symbol.begin = base + tokens_[at_].begin;
    symbol.end = base + tokens_[at_].end;
    if (is_string(token)) {
      symbol.hash = mix(hash_bytes(inside_quotes(token)) + 1);
      symbol.says_something = true;
    } else if (begins_name(token[0])) {
      read_name(token, symbol);
    } else if (is_digit(token[0]) || (token[0] == '.' && token.size() > 1 && is_digit(token[1]))) {
      symbol.hash = hash_number(token);
      symbol.says_something = true;
    } else {
      symbol.hash = hash_bytes(token);
    }
    symbols_.push_back(symbol);
  }

  void read_name(std::string_view token, Symbol& symbol) {
    symbol.hash = hash_bytes(token);
    bool of_self = at_ >= 2 && is_sign(at_ - 1, '.') && selves_.contains(word(at_ - 2));
    bool is_member = at_ >= 1 && is_sign(at_ - 1, '.');
    bool own = of_self || selves_.contains(token) || (!is_member && is_module(token)) ||
               (tokens_[at_].is_own_name && !is_everyones(token));
    if (own && is_keyword_of_others()) own = false;
    if (!own) {
      symbol.says_something = true;
      return;
    }
    // An attribute and a local variable of the same name are different names.
    if (of_self) symbol.hash = mix(symbol.hash + 1);
    symbol.is_own = true;
    auto now = static_cast<std::uint32_t>(symbols_.size());
    auto [seen, is_new] = last_.try_emplace(symbol.hash, now);
    if (!is_new) symbol.last = now - std::exchange(seen->second, now);
  }

  // The library chose a keyword's name: "dim" in torch.sum(x, dim=1).
  bool is_keyword_of_others() const {
    if (callees_.empty() || !callees_.back()) return false;
    if (!is_sign(at_ - 1, '(') && !is_sign(at_ - 1, ',')) return false;
    if (!is_sign(at_ + 1, '=')) return false;
    return !(is_sign(at_ + 2, '=') && tokens_[at_ + 2].begin == tokens_[at_ + 1].end);
  }

  // True for a round bracket, which is not a symbol.
  bool track_bracket(std::string_view token) {
    if (token.size() != 1) return false;
    char c = token[0];
    if (c == '(' || c == '[' || c == '{') {
      bool after_name = at_ > 0 && !word(at_ - 1).empty() && begins_name(word(at_ - 1).front());
      bool of_others = c == '(' && after_name && (is_sign(at_ - 2, '.') || !tokens_[at_ - 1].is_own_name);
      if (callees_.size() < deepest) callees_.push_back(of_others);
    } else if ((c == ')' || c == ']' || c == '}') && !callees_.empty()) {
      callees_.pop_back();
    }
    return c == '(' || c == ')';
  }

  static constexpr std::size_t deepest = 1000;

  std::string_view text_;
  std::vector<Symbol>& symbols_;
  std::vector<near::Token> tokens_;
  std::size_t at_ = 0;
  std::unordered_set<std::string_view> selves_;
  std::vector<bool> callees_;  // for each open bracket: whether it is a call of a foreign function
  std::unordered_map<std::uint64_t, std::uint32_t> last_;
};

bool is_fence(std::string_view line) {
  std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return false;
  line.remove_prefix(begin);
  return line.starts_with("```") || line.starts_with("~~~");
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size()))
    ++found;
  return found;
}

void read_stretch(std::string_view text, std::size_t base, std::vector<Symbol>& symbols) {
  if (text.empty()) return;
  Reader(text, symbols).read(base);
  for (std::string_view quotes : {"\"\"\"", "'''"}) {
    if (count(text, quotes) % 2 == 0) continue;
    std::size_t after = text.find(quotes) + quotes.size();
    Reader(text.substr(after), symbols).read(base + after);
  }
}

}  // namespace

std::vector<Symbol> read_symbols(std::string_view text) {
  std::vector<Symbol> symbols;
  symbols.reserve(text.size() / 4);
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    if (is_fence(text.substr(at, end - at))) {
      read_stretch(text.substr(begin, at - begin), begin, symbols);
      begin = end;
    }
    at = end + 1;
  }
  read_stretch(text.substr(begin), begin, symbols);
  return symbols;
}

std::vector<Symbol> read_words(std::string_view text) {
  std::vector<Symbol> words;
  words.reserve(text.size() / 6);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = end_of_word(text, at);
    if (end == at) {
      ++at;
      continue;
    }
    Symbol& word = words.emplace_back();
    word.begin = static_cast<std::uint32_t>(at);
    word.end = static_cast<std::uint32_t>(end);
    word.hash = hash_bytes(text.substr(at, end - at));
    at = end;
  }
  return words;
}

namespace {

Window read_window(std::span<const Symbol> window) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  std::uint64_t renamed = 0x243f6a8885a308d3U;
  std::uint64_t written = 0x13198a2e03707344U;
  bool says_something = false;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const Symbol& symbol = window[i];
    says_something = says_something || symbol.says_something;
    written = (written ^ symbol.hash) * factor;
    written ^= written >> 29;
    // The distance to a name's last occurrence is equivalent to its number in order of first appearance.
    std::uint64_t code =
        symbol.is_own ? (symbol.last != 0 && symbol.last <= i ? symbol.last : 0) : symbol.hash;
    renamed = (renamed ^ code) * factor;
    renamed ^= renamed >> 29;
  }
  written = mix(written);
  return {says_something ? mix(renamed) : mix(written + 1), static_cast<std::uint32_t>(written)};
}

}  // namespace

std::vector<Window> read_windows(std::span<const Symbol> symbols, std::size_t width) {
  std::vector<Window> windows;
  if (width == 0 || symbols.size() < width) return windows;
  windows.reserve(symbols.size() - width + 1);
  for (std::size_t first = 0; first + width <= symbols.size(); ++first)
    windows.push_back(read_window(symbols.subspan(first, width)));
  return windows;
}

}  // namespace kw::leak
