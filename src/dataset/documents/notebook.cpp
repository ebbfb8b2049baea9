#include "dataset/documents/notebook.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "base/core/json.h"
#include "base/core/text.h"
#include "dataset/documents/documents.h"

namespace kw::documents {
namespace json = boost::json;
namespace {

constexpr std::string_view json_space = " \t\r\n";

// Finds the positions of values in JSON that a parser has accepted.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  // Calls `see` with the key (as written, without quotes) and the value's span.
  template <typename See>
  void members(corpus::Span object, See see) const {
    each(object, '{', [&](std::size_t at) {
      std::size_t end = after_value(at);
      std::string_view key = text_.substr(at + 1, end - at - 2);
      std::size_t value = skip_blank(text_.find(':', end) + 1);
      end = after_value(value);
      see(key, corpus::Span{value, end});
      return end;
    });
  }

  template <typename See>
  void elements(corpus::Span array, See see) const {
    each(array, '[', [&](std::size_t at) {
      std::size_t end = after_value(at);
      see(corpus::Span{at, end});
      return end;
    });
  }

  corpus::Span whole() const {
    std::size_t at = skip_blank(0);
    return {at, after_value(at)};
  }

 private:
  std::size_t skip_blank(std::size_t at) const {
    return std::min(text_.find_first_not_of(json_space, at), text_.size());
  }

  template <typename Take>
  void each(corpus::Span value, char opens, Take take) const {
    if (value.begin >= text_.size() || text_[value.begin] != opens) return;
    std::size_t at = skip_blank(value.begin + 1);
    while (at + 1 < value.end) {
      at = skip_blank(take(at));
      if (at >= value.end || text_[at] != ',') return;
      at = skip_blank(at + 1);
    }
  }

  std::size_t after_string(std::size_t at) const {
    for (++at; at < text_.size() && text_[at] != '"'; ++at)
      if (text_[at] == '\\') ++at;
    return std::min(at + 1, text_.size());
  }

  std::size_t after_value(std::size_t at) const {
    std::size_t depth = 0;
    while (at < text_.size()) {
      char c = text_[at];
      if (c == '"') {
        at = after_string(at);
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at;
      } else if (depth > 0) {
        at = std::min(text_.find_first_of("\"{}[]", at), text_.size());
      } else {
        return std::min(text_.find_first_of(",}] \t\r\n", at), text_.size());
      }
      if (depth == 0) return at;
    }
    return text_.size();
  }

  std::string_view text_;
};

std::string joined(const json::value& source) {
  if (const auto* text = source.if_string()) return std::string(text->data(), text->size());
  std::string all;
  if (const auto* lines = source.if_array())
    for (const json::value& line : *lines)
      if (line.is_string()) all.append(line.get_string().data(), line.get_string().size());
  return all;
}

std::string notebook_language(const json::object& root) {
  const json::value* metadata = root.if_contains("metadata");
  if (!metadata || !metadata->is_object()) return "python";
  for (const char* name : {"kernelspec", "language_info"}) {
    const json::value* about = metadata->get_object().if_contains(name);
    if (!about || !about->is_object()) continue;
    auto language =
        string_at(about->get_object(), name == std::string_view("kernelspec") ? "language" : "name");
    if (language && !language->empty()) return *language;
  }
  return "python";
}

class NotebookReader {
 public:
  NotebookReader(std::string_view text, Notebook& notebook) : walker_(text), notebook_(notebook) {}

  // Version 4 has cells; version 3 has worksheets with cells.
  void read(const json::object& root) {
    walker_.members(walker_.whole(), [&](std::string_view key, corpus::Span span) {
      const json::value* value = root.if_contains(key);
      if (value && key == "cells") take_cells(*value, span);
      if (!value || key != "worksheets" || !value->is_array()) return;
      std::size_t i = 0;
      walker_.elements(span, [&](corpus::Span sheet) {
        if (i < value->get_array().size()) take_sheet(value->get_array()[i++], sheet);
      });
    });
  }

 private:
  void take_sheet(const json::value& sheet, corpus::Span place) {
    if (!sheet.is_object()) return;
    walker_.members(place, [&](std::string_view key, corpus::Span span) {
      const json::value* value = sheet.get_object().if_contains(key);
      if (value && key == "cells") take_cells(*value, span);
    });
  }

  void take_cells(const json::value& cells, corpus::Span place) {
    if (!cells.is_array()) return;
    std::size_t i = 0;
    walker_.elements(place, [&](corpus::Span cell) {
      if (i < cells.get_array().size()) take_cell(cells.get_array()[i++], cell);
    });
  }

  void take_cell(const json::value& cell, corpus::Span place) {
    if (!cell.is_object() || string_at(cell.get_object(), "cell_type") != "code") return;
    bool newer = cell.get_object().contains("source");
    walker_.members(place, [&](std::string_view key, corpus::Span span) {
      if (key != (newer ? "source" : "input")) return;
      notebook_.cells.push_back({joined(cell.get_object().at(key)), span});
    });
  }

  Walker walker_;
  Notebook& notebook_;
};

}  // namespace

Result<Notebook> read_notebook(std::string_view text) {
  auto root = parse_json(text);
  if (!root) return fail(root.error().what, "is the notebook whole?");
  if (!root->is_object()) return fail("JSON, but no notebook", "a notebook is an object with cells");
  Notebook notebook;
  notebook.language = notebook_language(root->get_object());
  NotebookReader(text, notebook).read(root->get_object());
  return notebook;
}

namespace {

// Magics that run the cell in the notebook's own language.
constexpr std::array<std::string_view, 6> own = {"time", "timeit", "capture", "prun", "python", "python3"};

std::string language_of_file(std::string_view name) {
  std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return "text";
  std::string_view ending = name.substr(dot + 1);
  return ending == "py" ? "python" : std::string(ending);
}

// Tracks Python's strings and brackets across lines.
class Follower {
 public:
  // Whether a statement may begin at the start of the next line.
  bool at_statement() const { return quote_.empty() && depth_ == 0 && !joined_; }

  void take(std::string_view line) {
    joined_ = false;
    for (std::size_t at = 0; at < line.size();) {
      if (!quote_.empty())
        at = within_string(line, at);
      else if (line[at] == '#')
        return;
      else
        at = outside(line, at);
    }
    // A single-quoted string ends with its line, unless the line is continued.
    if (quote_.size() == 1 && !line.ends_with('\\')) quote_ = {};
    joined_ = line.ends_with('\\');
  }

 private:
  std::size_t within_string(std::string_view line, std::size_t at) {
    if (line[at] == '\\') return at + 2;
    if (!line.substr(at).starts_with(quote_)) return at + 1;
    at += quote_.size();
    quote_ = {};
    return at;
  }

  std::size_t outside(std::string_view line, std::size_t at) {
    char c = line[at];
    if (c == '"' || c == '\'') {
      std::string_view three = c == '"' ? R"(""")" : "'''";
      quote_ = line.substr(at).starts_with(three) ? three : three.substr(0, 1);
      return at + quote_.size();
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    return at + 1;
  }

  std::string_view quote_;
  std::size_t depth_ = 0;
  bool joined_ = false;
};

bool is_magic(std::string_view line) {
  line = trim(line);
  if (line.starts_with('!')) return true;
  line = line.substr(line.starts_with("%%") ? 2 : line.starts_with('%') ? 1 : line.size());
  return !line.empty() && is_word(line[0]);
}

}  // namespace

std::string language_of_cell(std::string_view source) {
  std::string_view line = trim(source);
  line = trim(line.substr(0, line.find_first_of("\r\n")));
  if (!line.starts_with("%%")) return {};
  std::string_view name = line.substr(2, line.find_first_of(" \t", 2) - 2);
  for (std::string_view each : own)
    if (name == each) return {};
  if (name != "writefile" && name != "file") return std::string(name);
  return language_of_file(line.substr(line.find_last_of(" \t") + 1));
}

std::string without_magics(std::string_view source) {
  std::vector<std::size_t> begins = line_begins(source);
  std::string code;
  Follower follower;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    std::string_view whole = source.substr(begins[i], begins[i + 1] - begins[i]);
    std::string_view line = line_at(source, begins, i);
    bool magic = follower.at_statement() && is_magic(line);
    if (magic) {
      std::size_t in = indentation(line).size();
      code.append(whole.substr(0, in)).append("# ").append(whole.substr(in));
    } else {
      follower.take(line);
      code += whole;
    }
  }
  return code;
}

namespace {

// The line that names the cell's language or file is not part of the code.
std::string without_first_line(const std::string& source) {
  std::size_t begin = source.find("%%");
  std::size_t end = source.find('\n', begin);
  return end == std::string::npos ? std::string() : source.substr(end + 1);
}

}  // namespace

// One block per code cell.
Result<CodeBlocks> notebook_blocks(std::string_view text) {
  auto notebook = read_notebook(text);
  if (!notebook) return std::unexpected(notebook.error());
  CodeBlocks found;
  for (const Cell& cell : notebook->cells) {
    std::string language = language_of_cell(cell.source);
    std::string code;
    if (!language.empty()) {
      code = without_first_line(cell.source);
    } else {
      language = notebook->language;
      code = without_magics(cell.source);
    }
    found.push_back(block_of(text, cell.span, std::move(language), std::move(code)));
  }
  return found;
}

}  // namespace kw::documents
