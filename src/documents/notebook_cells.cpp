#include "documents/notebook_cells.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "schema/json.h"

namespace kw::documents {
namespace json = boost::json;
namespace {

constexpr std::string_view blank = " \t\r\n";

// Walks JSON that a parser has found to be right, for the places of its values.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  // See is called with the key (as written, without quotes) and the value's span.
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
    return std::min(text_.find_first_not_of(blank, at), text_.size());
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

std::string language_of(const json::object& root) {
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

class Reader {
 public:
  Reader(std::string_view text, Notebook& notebook) : walker_(text), notebook_(notebook) {}

  // Version 4 has cells; 3 had worksheets with cells.
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
  notebook.language = language_of(root->get_object());
  Reader(text, notebook).read(root->get_object());
  return notebook;
}

}  // namespace kw::documents
