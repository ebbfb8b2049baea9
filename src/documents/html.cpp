// HTML: the pieces with code, each parsed by gumbo.
#include <gumbo.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/text.h"
#include "documents/forms.h"
#include "documents/html_regions.h"
#include "documents/html_tags.h"

namespace kw::documents {
namespace {

constexpr std::size_t largest_piece = std::size_t{4} << 20;
// is_plain() bounds the depth already; gumbo adds <html>, <body> and the tags before.
constexpr std::size_t deepest = 120;

struct Parsed {
  explicit Parsed(std::string_view html) {
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    output = gumbo_parse_with_options(&options, html.data(), html.size());
  }
  ~Parsed() { gumbo_destroy_output(&kGumboDefaultOptions, output); }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;

  GumboOutput* output;
};

bool is_element(const GumboNode* node, GumboTag tag) {
  return node->type == GUMBO_NODE_ELEMENT && node->v.element.tag == tag;
}

std::string_view attribute(const GumboNode* node, const char* name) {
  const GumboAttribute* found = gumbo_get_attribute(&node->v.element.attributes, name);
  return found ? found->value : std::string_view();
}

// The words of the attribute, one by one.
template <typename See>
void words(std::string_view value, See see) {
  constexpr std::string_view blank = " \t\r\n";
  for (std::size_t at = value.find_first_not_of(blank); at != std::string_view::npos;) {
    std::size_t end = std::min(value.find_first_of(blank, at), value.size());
    see(value.substr(at, end - at));
    at = value.find_first_not_of(blank, end);
  }
}

// Numbers of lines that some pages put beside or into their code.
bool is_gutter(const GumboNode* node) {
  constexpr std::array<std::string_view, 5> names = {"linenos", "lineno", "linenodiv", "gutter",
                                                     "line-numbers-rows"};
  bool found = false;
  words(attribute(node, "class"),
        [&](std::string_view word) { found = found || std::ranges::find(names, word) != names.end(); });
  return found;
}

std::string language_of_element(const GumboNode* node) {
  constexpr std::array<std::string_view, 5> fronts = {"language-", "lang-", "highlight-source-", "highlight-",
                                                      "hl-"};
  std::string_view found;
  words(attribute(node, "class"), [&](std::string_view word) {
    for (std::string_view front : fronts)
      if (found.empty() && word.starts_with(front)) found = word.substr(front.size());
  });
  if (found.empty()) found = attribute(node, "data-lang");
  if (found.empty()) found = attribute(node, "data-language");
  return std::string(found);
}

// By the innermost element that names one.
std::string language_of(const GumboNode* node) {
  std::string found;
  for (; node && node->type == GUMBO_NODE_ELEMENT && found.empty(); node = node->parent)
    found = language_of_element(node);
  return found == "default" || found == "none" ? "" : found;
}

// The only element of a <pre>, when that is <code> and nothing stands beside it.
const GumboNode* code_within(const GumboNode* pre) {
  const GumboNode* code = nullptr;
  const GumboVector& children = pre->v.element.children;
  for (unsigned i = 0; i < children.length; ++i) {
    const auto* child = static_cast<const GumboNode*>(children.data[i]);
    if (child->type == GUMBO_NODE_WHITESPACE) continue;
    if (code || !is_element(child, GUMBO_TAG_CODE)) return pre;
    code = child;
  }
  return code ? code : pre;
}

class Reader {
 public:
  Reader(std::string_view text, corpus::Span piece, CodeBlocks& found)
      : text_(text),
        piece_(piece),
        found_(found),
        parsed_(text.substr(piece.begin, piece.end - piece.begin)) {}

  void read() { visit(parsed_.output->root, 0); }

 private:
  void visit(const GumboNode* node, std::size_t depth) {
    if (node->type != GUMBO_NODE_ELEMENT || depth > deepest || is_gutter(node)) return;
    if (is_element(node, GUMBO_TAG_PRE)) return take(node, code_within(node));
    if (is_element(node, GUMBO_TAG_CODE)) return take(node, node);
    const GumboVector& children = node->v.element.children;
    for (unsigned i = 0; i < children.length; ++i)
      visit(static_cast<const GumboNode*>(children.data[i]), depth + 1);
  }

  void take(const GumboNode* outer, const GumboNode* inner) {
    std::string code;
    if (!add_text(inner, 0, code)) return;
    if (is_element(outer, GUMBO_TAG_CODE) && code.find('\n') == std::string::npos) return;
    corpus::Span span = place_of(inner, code);
    found_.push_back(block_of(text_, span, language_of(inner), std::move(code)));
  }

  // False for what is nested too deep.
  static bool add_text(const GumboNode* node, std::size_t depth, std::string& code) {
    if (depth > deepest) return false;
    if (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_WHITESPACE ||
        node->type == GUMBO_NODE_CDATA) {
      code += node->v.text.text;
      return true;
    }
    if (node->type != GUMBO_NODE_ELEMENT || is_gutter(node) || is_element(node, GUMBO_TAG_BUTTON))
      return true;
    if (is_element(node, GUMBO_TAG_BR)) code += '\n';
    const GumboVector& children = node->v.element.children;
    for (unsigned i = 0; i < children.length; ++i)
      if (!add_text(static_cast<const GumboNode*>(children.data[i]), depth + 1, code)) return false;
    return true;
  }

  // From the start tag to the end tag, without the newline that <pre> may begin with.
  corpus::Span place_of(const GumboNode* node, std::string_view code) const {
    const GumboElement& element = node->v.element;
    std::size_t size = piece_.end - piece_.begin;
    std::size_t begin = std::min<std::size_t>(element.start_pos.offset + element.original_tag.length, size);
    std::size_t end = std::clamp<std::size_t>(element.end_pos.offset, begin, size);
    corpus::Span span{piece_.begin + begin, piece_.begin + end};
    std::string_view there = text_.substr(span.begin, end - begin);
    if (there.size() == code.size() + 1 && there.front() == '\n') ++span.begin;
    return span;
  }

  std::string_view text_;
  corpus::Span piece_;
  CodeBlocks& found_;
  Parsed parsed_;
};

}  // namespace

CodeBlocks html_blocks(std::string_view text) {
  CodeBlocks found;
  for (const CodeRegion& region : code_regions(text)) {
    std::string_view html = text.substr(region.piece.begin, region.piece.end - region.piece.begin);
    if (html.size() > largest_piece || !is_plain(html)) continue;
    Reader(text, {region.before.begin, region.piece.end}, found).read();
  }
  return found;
}

}  // namespace kw::documents
