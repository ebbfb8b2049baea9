// reStructuredText: `.. code-block::` and its other names, and literal blocks after a paragraph that ends
// with `::`.
#include <algorithm>
#include <array>
#include <optional>

#include "base/core/text.h"
#include "dataset/documents/documents.h"

namespace kw::documents {
namespace {

constexpr std::array<std::string_view, 4> code_directives = {"code-block", "code", "sourcecode", "code-cell"};

struct Directive {
  std::string_view name;
  std::string_view argument;
};

// ".. name:: argument"
std::optional<Directive> directive_of(std::string_view line) {
  line.remove_prefix(indentation(line).size());
  if (!line.starts_with(".. ")) return {};
  std::size_t end = line.find("::");
  if (end == std::string_view::npos) return {};
  std::string_view name = trim(line.substr(3, end - 3));
  if (name.empty() || name.find_first_of(" \t`|") != std::string_view::npos) return {};
  return Directive{name, trim(line.substr(end + 2))};
}

// The common prefix of two indentations: only the common prefix of all non-blank lines can be removed.
std::string_view common_indentation(std::string_view a, std::string_view b) {
  auto [end, other] = std::ranges::mismatch(a, b);
  return a.substr(0, static_cast<std::size_t>(end - a.begin()));
}

class RstReader {
 public:
  explicit RstReader(std::string_view text) : text_(text), begins_(line_begins(text)) {}

  CodeBlocks read() {
    while (at_ < lines()) {
      std::string_view line = line_at(text_, begins_, at_++);
      if (auto directive = directive_of(line))
        take_directive(line, *directive);
      else if (trim(line).ends_with("::") && !trim(line).starts_with(".. "))
        take_literal(line);
    }
    return std::move(found_);
  }

 private:
  std::size_t lines() const { return begins_.size() - 1; }

  void take_directive(std::string_view line, const Directive& directive) {
    if (directive.name == "highlight") language_ = directive.argument;
    if (std::ranges::find(code_directives, directive.name) == code_directives.end()) return;
    std::size_t column = indentation(line).size();
    while (at_ < lines() && is_option(line_at(text_, begins_, at_), column)) ++at_;
    take_body(column, directive.argument.empty() ? language_ : directive.argument);
  }

  static bool is_option(std::string_view line, std::size_t column) {
    return indentation(line).size() > column && trim(line).starts_with(':') &&
           trim(line).find(':', 1) != std::string_view::npos;
  }

  void take_literal(std::string_view line) {
    if (at_ == lines() || !is_blank(line_at(text_, begins_, at_))) return;
    take_body(indentation(line).size(), language_);
  }

  // Takes the lines that are indented beyond the column, and blank lines between them.
  void take_body(std::size_t column, std::string_view language) {
    while (at_ < lines() && is_blank(line_at(text_, begins_, at_))) ++at_;
    std::size_t first = at_;
    std::size_t end = first;  // one past the last line that is not blank
    std::optional<std::string_view> common;
    for (; at_ < lines(); ++at_) {
      std::string_view line = line_at(text_, begins_, at_);
      if (is_blank(line)) continue;
      if (indentation(line).size() <= column) break;
      common = common ? common_indentation(*common, indentation(line)) : indentation(line);
      end = at_ + 1;
    }
    at_ = end;
    if (end == first) return;
    std::string code;
    for (std::size_t i = first; i < end; ++i) {
      std::string_view line = line_at(text_, begins_, i);
      if (!is_blank(line)) code += line.substr(common->size());
      code += '\n';
    }
    found_.push_back(block_of(text_, {begins_[first], begins_[end]}, std::string(language), std::move(code)));
  }

  std::string_view text_;
  std::vector<std::size_t> begins_;
  std::size_t at_ = 0;
  std::string_view language_;
  CodeBlocks found_;
};

}  // namespace

CodeBlocks rst_blocks(std::string_view text) {
  return RstReader(text).read();
}

}  // namespace kw::documents
