#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/core/files.h"
#include "base/core/text.h"
#include "score/report/review_sheet.h"

namespace kw::score {
namespace {

constexpr std::size_t longest_sheet = std::size_t{64} << 20;
constexpr std::size_t longest_word_shown = 60;

// One unchecked entry of a sheet, and its place: "row 12", "line 340".
struct Entry {
  std::string where;
  std::array<std::string, review_columns.size()> fields;

  std::string& operator[](ReviewColumn column) { return fields[static_cast<std::size_t>(column)]; }
  std::string_view of(ReviewColumn column) const { return trim(fields[static_cast<std::size_t>(column)]); }
};

std::string in_marks(std::string_view word) {
  return fmt::format("'{}'", to_plain_text(shorten(word, longest_word_shown)));
}

// Checks entries and collects their reviews.
class Gatherer {
 public:
  explicit Gatherer(const std::vector<std::string>& known) {
    for (const std::string& target : known) known_.emplace(shown_target(target), target);
  }

  void add(const Entry& entry) {
    std::string_view word = entry.of(ReviewColumn::label);
    auto target = target_of(entry, !word.empty());
    if (!target) return;
    if (word.empty()) {
      ++read_.without_label;
      return;
    }
    auto label = review_label(word);
    if (!label) return refuse(entry, fmt::format("{} is no label", in_marks(word)));
    Review review{*target, std::string(entry.of(ReviewColumn::reviewer)), *label,
                  std::string(entry.of(ReviewColumn::note)), std::string(entry.of(ReviewColumn::at))};
    auto [before, is_new] = given_.try_emplace({review.target, review.reviewer}, *label);
    if (is_new) return read_.reviews.push_back(std::move(review));
    if (before->second != *label)
      refuse(entry, fmt::format("{} was labelled {} above, and is {} here", in_marks(*target),
                                to_string(before->second), to_string(*label)));
  }

  void refuse(const Entry& entry, const std::string& what) {
    read_.problems.push_back(fmt::format("{}: {}", entry.where, what));
  }

  ReviewRead take() { return std::move(read_); }

 private:
  // The known target of an entry. If there is none, returns empty and records the problem.
  std::optional<std::string> target_of(const Entry& entry, bool has_label) {
    std::string shown = shown_target(entry.of(ReviewColumn::target));
    if (shown.empty()) {
      if (has_label) refuse(entry, "a label without a target");
      return {};
    }
    if (known_.empty()) return shown;
    auto found = known_.find(shown);
    if (found != known_.end()) return found->second;
    refuse(entry, fmt::format("{} is no target of this draw", in_marks(shown)));
    return {};
  }

  std::map<std::string, std::string> known_;  // shown form → target
  std::map<std::pair<std::string, std::string>, ReviewLabel> given_;
  ReviewRead read_;
};

// The fields of the record that begins at `at`; sets `at` after the record. Quoted fields may contain any
// character.
Result<std::vector<std::string>> next_record(std::string_view text, char separator, std::size_t& at) {
  std::vector<std::string> fields(1);
  bool in_quotes = false;
  bool at_begin = true;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (in_quotes) {
      bool doubled = c == '"' && at + 1 < text.size() && text[at + 1] == '"';
      if (c == '"' && !doubled) {
        in_quotes = false;
        continue;
      }
      if (doubled) ++at;
      fields.back() += c;
    } else if (c == '"' && at_begin) {
      in_quotes = true;
      at_begin = false;
    } else if (c == separator) {
      fields.emplace_back();
      at_begin = true;
    } else if (c == '\n' || c == '\r') {
      at += c == '\r' && at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
      return fields;
    } else {
      // Blanks may precede a quote.
      at_begin = at_begin && c == ' ';
      if (!at_begin) fields.back() += c;
    }
  }
  if (in_quotes) return fail("a quote is opened and never closed", "double each quote within a quoted field");
  return fields;
}

struct Header {
  char separator = ',';
  std::vector<std::size_t> columns;  // the ReviewColumn of each field; review_columns.size(): another
};

// Finds the separator with which the columns target and label exist.
std::optional<Header> header_of(std::string_view text, std::size_t& at) {
  for (char separator : {',', ';', '\t'}) {
    std::size_t end = at;
    auto fields = next_record(text, separator, end);
    if (!fields) continue;
    Header header{separator, {}};
    for (const std::string& field : *fields) {
      auto found = std::ranges::find(review_columns, lower(trim(field)));
      header.columns.push_back(static_cast<std::size_t>(found - review_columns.begin()));
    }
    auto has = [&](ReviewColumn column) {
      return std::ranges::find(header.columns, static_cast<std::size_t>(column)) != header.columns.end();
    };
    if (!has(ReviewColumn::target) || !has(ReviewColumn::label)) continue;
    at = end;
    return header;
  }
  return {};
}

Result<> read_csv(std::string_view text, Gatherer& gatherer) {
  std::size_t at = 0;
  std::size_t row = 1;
  // Excel's line that states the separator.
  if (text.starts_with("sep=")) {
    at = std::min(text.find('\n'), text.size() - 1) + 1;
    ++row;
  }
  auto header = header_of(text, at);
  if (!header)
    return fail("the sheet's first line lacks the columns target and label",
                "restore the first line, with commas, semicolons or tabs between the fields");
  while (at < text.size()) {
    Entry entry{fmt::format("row {}", ++row), {}};
    auto fields = next_record(text, header->separator, at);
    if (!fields) return fail(fmt::format("{}: {}", entry.where, fields.error().what), fields.error().remedy);
    bool too_many = false;
    for (std::size_t i = 0; i < fields->size(); ++i) {
      std::size_t column = i < header->columns.size() ? header->columns[i] : review_columns.size();
      if (i >= header->columns.size() && !trim((*fields)[i]).empty()) too_many = true;
      if (column < review_columns.size()) entry.fields[column] = std::move((*fields)[i]);
    }
    if (too_many)
      gatherer.refuse(entry, "more fields than columns: quote a field that holds the separator");
    else
      gatherer.add(entry);
  }
  return {};
}

// The fence that a line opens or closes; empty if there is none.
std::string_view fence_of(std::string_view line) {
  std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos || begin > 3 || (line[begin] != '~' && line[begin] != '`')) return {};
  std::size_t end = std::min(line.find_first_not_of(line[begin], begin), line.size());
  return end - begin < 3 ? std::string_view() : line.substr(begin, end - begin);
}

// Parses "- **Label**: good" as label, "good".
std::optional<std::pair<ReviewColumn, std::string_view>> field_of(std::string_view line) {
  line = trim(line);
  if (!line.empty() && std::string_view("-*+").contains(line.front()) && line.substr(1).starts_with(' '))
    line = trim(line.substr(1));
  std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {};
  std::string key = lower(line.substr(0, colon));
  std::erase_if(key, [](char c) { return c == '*' || c == '`' || c == ' '; });
  auto found = std::ranges::find(review_columns, key);
  if (found == review_columns.end()) return {};
  std::string_view value = trim(line.substr(colon + 1));
  while (value.starts_with('*')) value = trim(value.substr(1));
  return std::pair{static_cast<ReviewColumn>(found - review_columns.begin()), value};
}

class MarkdownReader {
 public:
  explicit MarkdownReader(Gatherer& gatherer) : gatherer_(gatherer) {}

  void line(std::string_view line) {
    ++number_;
    if (!fence_.empty()) {
      std::string_view closing = fence_of(line);
      if (closing.size() >= fence_.size() && closing.front() == fence_.front() && trim(line) == closing)
        fence_ = {};
      return;
    }
    if (fence_ = fence_of(line); !fence_.empty()) {
      in_note_ = false;
      return;
    }
    if (line.starts_with("## ")) return begin();
    if (auto field = field_of(line)) return take(field->first, field->second);
    if (trim(line).empty()) in_note_ = false;
    if (in_note_) entry_[ReviewColumn::note] += fmt::format(" {}", trim(line));
  }

  void finish() {
    if (is_open_) gatherer_.add(entry_);
    is_open_ = false;
  }

 private:
  void begin() {
    finish();
    entry_ = {fmt::format("line {}", number_), {}};
    is_open_ = true;
    in_note_ = false;
  }

  void take(ReviewColumn column, std::string_view value) {
    if (!is_open_ || (column == ReviewColumn::target && !entry_.of(column).empty())) begin();
    entry_[column] = value;
    if (column == ReviewColumn::label) entry_.where = fmt::format("line {}", number_);
    in_note_ = column == ReviewColumn::note;
  }

  Gatherer& gatherer_;
  std::string_view fence_;
  Entry entry_;
  bool is_open_ = false;
  bool in_note_ = false;
  std::size_t number_ = 0;
};

void read_markdown(std::string_view text, Gatherer& gatherer) {
  MarkdownReader reader(gatherer);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.line(line);
    at = end + 1;
  }
  reader.finish();
}

// A Markdown sheet begins with its title; an editor may add blanks before it.
bool is_markdown(std::string_view text) {
  return trim(text).starts_with('#');
}

}  // namespace

Result<ReviewRead> read_review_text(std::string_view text, const std::vector<std::string>& known) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return fail("the sheet is UTF-16", "save it as \"CSV UTF-8\"");
  if (!is_utf8(text)) return fail("the sheet is not UTF-8", "save it as \"CSV UTF-8\"");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Gatherer gatherer(known);
  if (is_markdown(text)) {
    read_markdown(text, gatherer);
  } else if (auto done = read_csv(text, gatherer); !done) {
    return std::unexpected(done.error());
  }
  return gatherer.take();
}

Result<ReviewRead> read_review(const std::filesystem::path& path, const std::vector<std::string>& known) {
  auto text = read_file(path, longest_sheet);
  if (!text) return std::unexpected(text.error());
  auto read = read_review_text(*text, known);
  if (!read) return fail(fmt::format("{}: {}", path.string(), read.error().what), read.error().remedy);
  return read;
}

}  // namespace kw::score
