#include <fmt/format.h>

#include <vector>

#include "syntax/static_findings.h"

namespace kw {
namespace {

struct Open {
  char bracket;
  std::size_t line;
};

char partner_of(char closing) {
  return closing == ')' ? '(' : closing == ']' ? '[' : '{';
}

// Goes through a source as Python's tokenizer does, as far as brackets are concerned.
class Scan {
 public:
  explicit Scan(std::string_view code) : code_(code) {}

  std::optional<StaticFinding> run() {
    while (at_ < code_.size()) {
      char c = code_[at_];
      if (c == '#') {
        at_ = std::min(code_.find('\n', at_), code_.size());
        continue;
      }
      if (c == '"' || c == '\'') {
        if (auto open = pass_string(c)) return open;
        continue;
      }
      if (c == '\n') ++line_;
      if (c == '(' || c == '[' || c == '{') open_.push_back({c, line_});
      if (c == ')' || c == ']' || c == '}') {
        if (open_.empty() || open_.back().bracket != partner_of(c))
          return StaticFinding{fmt::format("'{}' closes nothing that is open", c), line_};
        open_.pop_back();
      }
      ++at_;
    }
    if (open_.empty()) return {};
    return StaticFinding{fmt::format("'{}' is never closed", open_.back().bracket), open_.back().line};
  }

 private:
  // Past a string; a finding where a triple-quoted one does not end. A plain one ends with its line at the
  // latest.
  std::optional<StaticFinding> pass_string(char quote) {
    std::size_t began = line_;
    bool triple = code_.substr(at_).starts_with(std::string(3, quote));
    at_ += triple ? 3 : 1;
    while (at_ < code_.size()) {
      if (code_[at_] == '\\') {
        if (at_ + 1 < code_.size() && code_[at_ + 1] == '\n') ++line_;
        at_ += 2;
        continue;
      }
      if (!triple && (code_[at_] == quote || code_[at_] == '\n')) {
        if (code_[at_] == quote) ++at_;
        return {};
      }
      if (triple && code_.substr(at_).starts_with(std::string(3, quote))) {
        at_ += 3;
        return {};
      }
      if (code_[at_] == '\n') ++line_;
      ++at_;
    }
    if (!triple) return {};
    return StaticFinding{"a triple-quoted string is never closed", began};
  }

  std::string_view code_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::vector<Open> open_;
};

}  // namespace

std::optional<StaticFinding> find_unbalanced(std::string_view code) {
  return Scan(code).run();
}

}  // namespace kw
