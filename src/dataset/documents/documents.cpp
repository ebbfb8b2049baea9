#include "dataset/documents/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"

namespace kw::documents {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// The largest document that is read. A parsed document takes up to 160 times its bytes (Markdown that
// consists of list items), 10 times for the other forms; a notebook contains its images.
constexpr std::size_t largest(Form form) {
  switch (form) {
    case Form::markdown:
      return 2 * mebibyte;
    case Form::rst:
      return 4 * mebibyte;
    case Form::html:
      return 16 * mebibyte;
    case Form::notebook:
      return 32 * mebibyte;
  }
  return 0;
}

constexpr std::string_view mark = "\xEF\xBB\xBF";

struct Ending {
  std::string_view text;
  Form form;
};

constexpr std::array<Ending, 6> endings = {{{".md", Form::markdown},
                                            {".markdown", Form::markdown},
                                            {".rst", Form::rst},
                                            {".html", Form::html},
                                            {".htm", Form::html},
                                            {".ipynb", Form::notebook}}};

Result<CodeBlocks> blocks_of(Form form, std::string_view text) {
  switch (form) {
    case Form::markdown:
      return markdown_blocks(text);
    case Form::rst:
      return rst_blocks(text);
    case Form::html:
      return html_blocks(text);
    case Form::notebook:
      return notebook_blocks(text);
  }
  return CodeBlocks{};
}

}  // namespace

std::optional<Form> form_of(std::string_view path) {
  for (const Ending& ending : endings)
    if (path.size() > ending.text.size() &&
        iequals(path.substr(path.size() - ending.text.size()), ending.text))
      return ending.form;
  return {};
}

CodeBlock block_of(std::string_view text, corpus::Span span, std::string language, std::string code) {
  CodeBlock found;
  found.block.language = std::move(language);
  found.block.span = span;
  found.block.verbatim = text.substr(span.begin, span.end - span.begin) == code;
  found.code = std::move(code);
  return found;
}

Result<std::vector<CodeBlock>> code_blocks(Form form, std::string_view bytes) {
  if (bytes.size() > largest(form))
    return fail(
        fmt::format("the document has {} bytes, more than {} MiB", bytes.size(), largest(form) / mebibyte),
        "split it, or leave it out");
  if (!is_utf8(bytes)) return fail("the document is not UTF-8", "convert it to UTF-8");
  std::size_t begin = bytes.starts_with(mark) ? mark.size() : 0;
  auto found = blocks_of(form, bytes.substr(begin));
  if (!found) return found;
  std::erase_if(*found, [](const CodeBlock& each) { return is_blank(each.code); });
  std::size_t index = 0;
  for (CodeBlock& each : *found) {
    each.block.index = index++;
    each.block.span.begin += begin;
    each.block.span.end += begin;
  }
  return found;
}

std::vector<std::size_t> line_begins(std::string_view text) {
  std::vector<std::size_t> begins{0};
  for (std::size_t at = text.find_first_of("\r\n"); at != std::string_view::npos;
       at = text.find_first_of("\r\n", at)) {
    at += text.substr(at).starts_with("\r\n") ? 2 : 1;
    begins.push_back(at);
  }
  if (begins.back() != text.size()) begins.push_back(text.size());
  return begins;
}

std::string_view line_at(std::string_view text, const std::vector<std::size_t>& begins, std::size_t number) {
  std::string_view line = text.substr(begins[number], begins[number + 1] - begins[number]);
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

std::string_view indentation(std::string_view line) {
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

}  // namespace kw::documents
