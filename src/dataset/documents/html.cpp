#include "dataset/documents/html.h"

#include <gumbo.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/text.h"
#include "dataset/documents/documents.h"

namespace kw::documents {
namespace {

constexpr std::string_view html_space = " \t\n\r\f";
constexpr std::size_t most_open_tags = 100;
constexpr std::size_t most_tag_attributes = 100;

constexpr std::array<std::string_view, 3> without_end = {"br", "wbr", "img"};
constexpr std::array<std::string_view, 33> code_tags = {
    "a",    "abbr", "b",     "big",  "button", "cite",   "code", "del", "dfn", "div", "em",
    "font", "i",    "ins",   "kbd",  "label",  "li",     "mark", "ol",  "p",   "pre", "q",
    "s",    "samp", "small", "span", "strike", "strong", "sub",  "sup", "tt",  "u",   "var"};

// The offset after the attribute's value, which begins after the '='.
std::size_t end_of_value(std::string_view html, std::size_t at) {
  at = html.find_first_not_of(html_space, at);
  if (at == nowhere) return nowhere;
  if (html[at] == '"' || html[at] == '\'') {
    at = html.find(html[at], at + 1);
    return at == nowhere ? nowhere : at + 1;
  }
  return html.find_first_of(" \t\n\r\f>", at);
}

// The offset after the attribute that begins here; `nowhere` if it does not end.
std::size_t end_of_attribute(std::string_view html, std::size_t at) {
  at = html.find_first_of(" \t\n\r\f/>=", at + 1);
  if (at != nowhere) at = html.find_first_not_of(html_space, at);
  if (at == nowhere || html[at] != '=') return at;
  return end_of_value(html, at + 1);
}

template <std::size_t N>
bool is_one_of(const Tag& tag, const std::array<std::string_view, N>& names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return iequals(tag.name, name); });
}

}  // namespace

std::optional<Tag> tag_at(std::string_view html, std::size_t at) {
  Tag tag;
  tag.begin = at++;
  tag.closes = at < html.size() && html[at] == '/';
  if (tag.closes) ++at;
  if (at >= html.size() || !is_letter(html[at])) return {};
  std::size_t name = at;
  at = std::min(html.find_first_of(" \t\n\r\f/>", at), html.size());
  tag.name = html.substr(name, at - name);
  while (true) {
    at = at == nowhere ? nowhere : html.find_first_not_of(" \t\n\r\f/", at);
    if (at == nowhere || html[at] == '>') break;
    ++tag.attributes;
    at = end_of_attribute(html, at);
  }
  tag.end = at == nowhere ? nowhere : at + 1;
  return tag;
}

bool is_plain(std::string_view piece) {
  std::vector<Tag> open;
  for (std::size_t at = piece.find('<'); at != nowhere; at = piece.find('<', at)) {
    auto tag = tag_at(piece, at);
    if (!tag) {
      // Parsers disagree on the end of a comment.
      std::string_view next = piece.substr(at + 1, 1);
      if (next == "!" || next == "?" || next == "/") return false;
      ++at;
      continue;
    }
    at = tag->end;
    if (at == nowhere || tag->attributes > most_tag_attributes) return false;
    if (!tag->closes && is_one_of(*tag, without_end)) continue;
    if (tag->closes) {
      if (open.empty() || !iequals(open.back().name, tag->name)) return false;
      open.pop_back();
      continue;
    }
    if (!is_one_of(*tag, code_tags) || open.size() == most_open_tags) return false;
    open.push_back(*tag);
  }
  return true;
}

namespace {

constexpr std::size_t tags_before = 4;
constexpr std::size_t most_region_attributes = 30;
constexpr std::size_t longest_tag = 2048;
constexpr std::array<std::string_view, 6> passed_over = {"script", "style",    "textarea",
                                                         "title",  "template", "svg"};

class Finder {
 public:
  explicit Finder(std::string_view html) : html_(html) {}

  std::vector<CodeRegion> find() {
    for (std::size_t at = html_.find('<'); at != nowhere;
         at = at == nowhere ? nowhere : html_.find('<', at)) {
      if (html_.substr(at).starts_with("<!--"))
        at = after_comment(at);
      else if (auto tag = tag_at(html_, at))
        at = after_tag(*tag);
      else
        ++at;
    }
    return std::move(found_);
  }

 private:
  std::size_t after_comment(std::size_t at) const {
    std::size_t end = html_.find("-->", at + 4);
    return end == nowhere ? nowhere : end + 3;
  }

  // The next end tag of that name, regardless of nesting. Empty if there is none; later elements of that name
  // then have none either.
  std::optional<Tag> end_of(const Tag& tag) const {
    std::size_t length = tag.name.size();
    for (std::size_t at = html_.find("</", tag.end); at != nowhere; at = html_.find("</", at + 2)) {
      if (!iequals(html_.substr(at + 2, length), tag.name)) continue;
      auto end = tag_at(html_, at);
      if (end && end->end == nowhere) return {};
      if (end && end->name.size() == length) return end;
    }
    return {};
  }

  std::size_t after_tag(const Tag& tag) {
    if (tag.end == nowhere) return nowhere;
    bool pre = iequals(tag.name, "pre");
    if (!tag.closes && (pre || iequals(tag.name, "code"))) return after_code(tag, pre);
    if (tag.closes) {
      before_.clear();
      return tag.end;
    }
    bool over =
        std::ranges::any_of(passed_over, [&](std::string_view name) { return iequals(tag.name, name); });
    if (over) {
      auto end = end_of(tag);
      return end ? end->end : nowhere;
    }
    remember(tag);
    return tag.end;
  }

  bool follows(const Tag& tag) const {
    return !before_.empty() && is_blank(html_.substr(before_.back().end, tag.begin - before_.back().end));
  }

  // Stores consecutive tags with only white space between them.
  void remember(const Tag& tag) {
    if (!follows(tag)) before_.clear();
    if (tag.attributes > most_region_attributes || tag.end - tag.begin > longest_tag) return;
    if (before_.size() == tags_before) before_.erase(before_.begin());
    before_.push_back({tag.begin, tag.end});
  }

  std::size_t after_code(const Tag& tag, bool pre) {
    if (!pre && no_more_code_) return tag.end;
    auto end = end_of(tag);
    if (!end) {
      no_more_code_ = true;
      return pre ? nowhere : tag.end;
    }
    corpus::Span before{tag.begin, tag.begin};
    if (follows(tag)) before.begin = before_.front().begin;
    before_.clear();
    if (pre || html_.substr(tag.end, end->begin - tag.end).find('\n') != nowhere)
      found_.push_back({{tag.begin, end->end}, before});
    return end->end;
  }

  std::string_view html_;
  bool no_more_code_ = false;
  std::vector<corpus::Span> before_;
  std::vector<CodeRegion> found_;
};

}  // namespace

std::vector<CodeRegion> code_regions(std::string_view html) {
  return Finder(html).find();
}

namespace {

constexpr std::size_t largest_piece = std::size_t{4} << 20;
// is_plain() limits the depth; gumbo adds <html>, <body> and the preceding tags.
constexpr std::size_t deepest_node = 120;

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

// Calls `see` for each word of the attribute.
template <typename See>
void words(std::string_view value, See see) {
  constexpr std::string_view blank = " \t\r\n";
  for (std::size_t at = value.find_first_not_of(blank); at != std::string_view::npos;) {
    std::size_t end = std::min(value.find_first_of(blank, at), value.size());
    see(value.substr(at, end - at));
    at = value.find_first_not_of(blank, end);
  }
}

// Whether the element contains line numbers, which some pages put beside or into their code.
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

// The language that the innermost element with a language names.
std::string language_of(const GumboNode* node) {
  std::string found;
  for (; node && node->type == GUMBO_NODE_ELEMENT && found.empty(); node = node->parent)
    found = language_of_element(node);
  return found == "default" || found == "none" ? "" : found;
}

// The <code> element of a <pre> without other content; else null.
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

class HtmlReader {
 public:
  HtmlReader(std::string_view text, corpus::Span piece, CodeBlocks& found)
      : text_(text),
        piece_(piece),
        found_(found),
        parsed_(text.substr(piece.begin, piece.end - piece.begin)) {}

  void read() { visit(parsed_.output->root, 0); }

 private:
  void visit(const GumboNode* node, std::size_t depth) {
    if (node->type != GUMBO_NODE_ELEMENT || depth > deepest_node || is_gutter(node)) return;
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

  // False if the nodes are nested too deeply.
  static bool add_text(const GumboNode* node, std::size_t depth, std::string& code) {
    if (depth > deepest_node) return false;
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

  // From the start tag to the end tag, without the newline with which <pre> may begin.
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

// gumbo parses each code region separately.
CodeBlocks html_blocks(std::string_view text) {
  CodeBlocks found;
  for (const CodeRegion& region : code_regions(text)) {
    std::string_view html = text.substr(region.piece.begin, region.piece.end - region.piece.begin);
    if (html.size() > largest_piece || !is_plain(html)) continue;
    HtmlReader(text, {region.before.begin, region.piece.end}, found).read();
  }
  return found;
}

}  // namespace kw::documents
