#include "dataset/documents/markdown.h"

#include <cmark.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "base/core/text.h"
#include "dataset/documents/documents.h"

namespace kw::documents {
namespace {

constexpr std::string_view inline_marks = "[&\\<*_!";  // replaced by control characters 1 to 7
constexpr std::size_t most_containers = 100;           // containers that one line may open

char mask_of(char c) {
  std::size_t at = inline_marks.find(c);
  return at == std::string_view::npos ? c : static_cast<char>(at + 1);
}

bool is_own_mask(char c) {
  return c > 0 && static_cast<std::size_t>(c) <= inline_marks.size();
}

bool is_blank_at(std::string_view text, std::size_t at) {
  return at >= text.size() || text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r';
}

// The offset of a line's text, after the marks of quotes, lists, headings, fences and underlines. Marks of
// containers beyond the limit become text.
std::size_t take_front(std::string& text, std::size_t at) {
  constexpr std::string_view front = " \t>0123456789.)+-*_=#`~";
  std::size_t containers = 0;
  for (; at < text.size() && front.find(text[at]) != std::string_view::npos; ++at) {
    bool bullet =
        std::string_view("+-*.)").find(text[at]) != std::string_view::npos && is_blank_at(text, at + 1);
    if (text[at] != '>' && !bullet) continue;
    if (++containers > most_containers) text[at] = 'x';
  }
  return at;
}

}  // namespace

std::string masked(std::string_view text) {
  std::string copy(text);
  for (char& c : copy)
    if (is_own_mask(c)) c = '?';
  for (std::size_t at = 0; at < copy.size();) {
    at = take_front(copy, at);
    // Keeps the tags of HTML that begins here.
    bool html = at < copy.size() && copy[at] == '<';
    if (html) ++at;
    for (; at < copy.size() && copy[at] != '\n' && copy[at] != '\r'; ++at) {
      bool end_tag = copy[at] == '<' && at + 1 < copy.size() && copy[at + 1] == '/';
      if (!end_tag && !(html && copy[at] == '_')) copy[at] = mask_of(copy[at]);
    }
    while (at < copy.size() && (copy[at] == '\n' || copy[at] == '\r')) ++at;
  }
  return copy;
}

std::string unmasked(std::string_view text) {
  std::string copy(text);
  for (char& c : copy)
    if (is_own_mask(c)) c = inline_marks[static_cast<std::size_t>(c) - 1];
  return copy;
}

namespace {

struct FreeNode {
  void operator()(cmark_node* node) const { cmark_node_free(node); }
};
struct FreeIterator {
  void operator()(cmark_iter* iterator) const { cmark_iter_free(iterator); }
};

class MarkdownReader {
 public:
  explicit MarkdownReader(std::string_view text) : text_(text), begins_(line_begins(text)) {}

  Result<CodeBlocks> read() {
    std::string copy = masked(text_);
    std::unique_ptr<cmark_node, FreeNode> root(
        cmark_parse_document(copy.data(), copy.size(), CMARK_OPT_DEFAULT));
    if (!root) return fail("Markdown that cannot be read");
    copy = {};
    std::unique_ptr<cmark_iter, FreeIterator> nodes(cmark_iter_new(root.get()));
    for (cmark_event_type event = cmark_iter_next(nodes.get()); event != CMARK_EVENT_DONE;
         event = cmark_iter_next(nodes.get())) {
      cmark_node* node = cmark_iter_get_node(nodes.get());
      if (event != CMARK_EVENT_ENTER) continue;
      if (cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK) take_code(node);
      if (cmark_node_get_type(node) == CMARK_NODE_HTML_BLOCK) take_html(node);
    }
    return std::move(found_);
  }

 private:
  // The span of `count` lines from `first`.
  corpus::Span lines(std::size_t first, std::size_t count) const {
    std::size_t last = begins_.size() - 1;
    return {begins_[std::min(first, last)], begins_[std::min(first + count, last)]};
  }

  static std::size_t count_lines(std::string_view code) { return line_begins(code).size() - 1; }

  // cmark counts lines from 1.
  static std::size_t first_line(cmark_node* node) {
    return static_cast<std::size_t>(std::max(cmark_node_get_start_line(node), 1)) - 1;
  }

  // Code without a fence begins on its first line, after four spaces or a tab.
  bool is_fenced(std::size_t number, std::string_view code) const {
    std::string_view first = code.substr(0, code.find_first_of("\r\n"));
    first.remove_prefix(indentation(first).size());
    std::string_view line =
        number + 1 < begins_.size() ? line_at(text_, begins_, number) : std::string_view();
    if (first.empty() || !line.ends_with(first)) return true;
    line.remove_suffix(first.size());
    return !line.ends_with("    ") && !line.ends_with('\t');
  }

  // cmark appends a newline to a text without a final one.
  std::string as_in_text(std::string code, corpus::Span span) const {
    std::string_view there = text_.substr(span.begin, span.end - span.begin);
    if (code.size() == there.size() + 1 && code.starts_with(there)) code.pop_back();
    return code;
  }

  void take_code(cmark_node* node) {
    std::string code = unmasked(cmark_node_get_literal(node));
    std::size_t first = first_line(node);
    corpus::Span span = lines(is_fenced(first, code) ? first + 1 : first, count_lines(code));
    code = as_in_text(std::move(code), span);
    found_.push_back(
        block_of(text_, span, language_of(unmasked(cmark_node_get_fence_info(node))), std::move(code)));
  }

  // "python title=x", "{.python}", "{code-cell} ipython3", "python,ignore"
  static std::string language_of(std::string_view info) {
    info = trim(info);
    if (info.starts_with("{code")) info = trim(info.substr(std::min(info.find('}'), info.size() - 1) + 1));
    while (!info.empty() && (info.front() == '{' || info.front() == '.' || info.front() == ' '))
      info.remove_prefix(1);
    return std::string(info.substr(0, info.find_first_of(" \t,{}:;")));
  }

  void take_html(cmark_node* node) {
    std::string html = unmasked(cmark_node_get_literal(node));
    corpus::Span span = lines(first_line(node), count_lines(html));
    html = as_in_text(std::move(html), span);
    bool same = text_.substr(span.begin, span.end - span.begin) == html;
    for (CodeBlock& each : html_blocks(html)) {
      corpus::Span inner = {span.begin + each.block.span.begin, span.begin + each.block.span.end};
      found_.push_back(
          block_of(text_, same ? inner : span, std::move(each.block.language), std::move(each.code)));
    }
  }

  std::string_view text_;
  std::vector<std::size_t> begins_;
  CodeBlocks found_;
};

}  // namespace

// Fenced and indented code blocks, and <pre> within HTML.
Result<CodeBlocks> markdown_blocks(std::string_view text) {
  return MarkdownReader(text).read();
}

}  // namespace kw::documents
