#include <algorithm>
#include <limits>

#include "base/ascii.h"
#include "near/code_text.h"
#include "near/renamed.h"

namespace kw::near {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool begins_name(char c) {
  return is_letter(c) || c == '_' || static_cast<unsigned char>(c) > 127;
}

enum class Bracket : char { other, call, library_call };

// One walk over the text, which looks ahead by no more than what it then passes.
class Scanner {
 public:
  explicit Scanner(std::string_view text)
      : text_(text.substr(0, std::numeric_limits<std::uint32_t>::max())), language_(language_of(text_)) {}

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

  // How many letters stand before the quote of a string literal that begins here; none if no literal does.
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
      if (!is_long && peek() == '\n') return;  // never closed: it ends with its line
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

  // What an opening one after the tokens so far is.
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

  // A statement that is nothing but a string says something to readers only.
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

  // A member's name is its class's, of which this text may show nothing; what hangs on self is the author's.
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
  return Scanner(text).run();
}

}  // namespace kw::near
