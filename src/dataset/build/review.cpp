#include "dataset/build/review.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/rows/formats.h"
#include "base/rows/rows.h"
#include "base/rows/rows_indexed.h"
#include "dataset/build/row_sink.h"

namespace kw::dataset {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, ReviewLine::columns> names = {
    "id",          "kind",  "source",   "relation", "against", "row", "jaccard",
    "containment", "spans", "decision", "reviewer", "note",    "at"};

constexpr ReviewLine::Column by_people[] = {ReviewLine::decision, ReviewLine::reviewer, ReviewLine::note,
                                            ReviewLine::at};

using Key = std::tuple<std::string, std::string, std::string>;

Key key_of(const ReviewLine& line) {
  return {line.fields[ReviewLine::id], line.fields[ReviewLine::relation], line.fields[ReviewLine::against]};
}

bool has_words_of_people(const ReviewLine& line) {
  auto is_written = [](const std::string& field) { return !trim(field).empty(); };
  return std::ranges::any_of(by_people, [&](auto column) { return is_written(line.fields[column]); }) ||
         std::ranges::any_of(line.others, is_written);
}

std::optional<Decision> decision_of(std::string_view word) {
  std::string small = lower(trim(word));
  if (small.empty()) return Decision::none;
  if (small == "keep") return Decision::keep;
  if (small == "drop") return Decision::drop;
  return {};
}

std::string spans_of(const corpus::Leak& leak) {
  std::string text = leak.field;
  for (const corpus::Span& span : leak.spans) text += fmt::format(" {}-{}", span.begin, span.end);
  return std::string(trim(text));
}

ReviewLine line_of(const Flagged& flagged, const corpus::Leak& leak) {
  ReviewLine line;
  line.fields = {flagged.id,
                 std::string(to_string(flagged.kind)),
                 flagged.source,
                 leak.relation,
                 leak.against,
                 leak.row,
                 fmt::format("{:.3f}", leak.jaccard),
                 fmt::format("{:.3f}", leak.containment),
                 spans_of(leak)};
  return line;
}

double strength(const corpus::Leak& leak) {
  return std::max(leak.jaccard, leak.containment);
}

// One line per relation and benchmark, with its strongest flag; of equally strong ones, the first.
std::vector<ReviewLine> review_lines(const Flagged& flagged) {
  std::map<std::pair<std::string, std::string>, const corpus::Leak*> strongest;
  for (const corpus::Leak& leak : flagged.leaks) {
    auto [at, is_new] = strongest.try_emplace({leak.relation, leak.against}, &leak);
    if (!is_new && strength(leak) > strength(*at->second)) at->second = &leak;
  }
  std::vector<ReviewLine> lines;
  for (const auto& [key, leak] : strongest) lines.push_back(line_of(flagged, *leak));
  return lines;
}

std::string record_of(const ReviewLine& line, std::size_t others) {
  std::vector<std::string_view> fields(line.fields.begin(), line.fields.end());
  for (std::size_t i = 0; i < others; ++i)
    fields.push_back(i < line.others.size() ? std::string_view(line.others[i]) : std::string_view());
  return table::csv_record(fields);
}

// Maps each column of the file to a standard column or to an additional one.
struct Header {
  std::vector<std::size_t> ours;  // ReviewLine::columns: an additional one
  std::vector<std::string> others;

  explicit Header(const std::vector<std::string>& found) {
    for (const std::string& name : found) {
      auto at = std::ranges::find(names, trim(name));
      ours.push_back(static_cast<std::size_t>(at - names.begin()));
      if (at == names.end()) others.push_back(name);
    }
  }
  bool has(ReviewLine::Column column) const { return std::ranges::find(ours, column) != ours.end(); }

  ReviewLine line(std::vector<std::string>& fields) const {
    ReviewLine line;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (ours[i] < ReviewLine::columns)
        line.fields[ours[i]] = std::move(fields[i]);
      else
        line.others.push_back(std::move(fields[i]));
    }
    return line;
  }
};

}  // namespace

Result<Review> Review::open(const std::string& path) {
  Review review;
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return review;
  if (auto read = review.read(path); !read) return std::unexpected(read.error());
  return review;
}

Result<> Review::read(const std::string& path) {
  auto file = table::open_text(path);
  if (!file) return std::unexpected(file.error());
  table::RecordSource source;
  source.fd = file->fd.get();
  source.name = path;
  source.max_bytes = std::uint64_t{16} << 20;
  source.begin = file->begin;
  table::RecordReader records(std::move(source), std::make_unique<table::CsvCutter>());
  std::optional<Header> header;
  std::vector<std::string> fields;
  std::size_t line = 1;
  while (true) {
    auto record = records.next();
    if (!record) return std::unexpected(record.error());
    if (!*record) return {};
    std::string where = fmt::format("{}, line {}", path, line);
    std::string_view text = (*record)->text;
    line += 1 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
    if ((*record)->too_long || !is_utf8(text))
      return fail(fmt::format("{} is too long, or not UTF-8", where), "save the file as CSV in UTF-8");
    if (trim(text).empty()) continue;
    if (auto taken = table::csv_fields(text, fields); !taken)
      return fail(fmt::format("{}: {}", where, taken.error().what), taken.error().remedy);
    if (!header) {
      header.emplace(fields);
      if (!header->has(ReviewLine::id) || !header->has(ReviewLine::decision))
        return fail(fmt::format("{} has no columns id and decision", where),
                    "save it with commas between the fields and with its original first line");
      other_columns_ = header->others;
      continue;
    }
    if (fields.size() != header->ours.size())
      return fail(fmt::format("{} has {} fields, but the first line has {}", where, fields.size(),
                              header->ours.size()),
                  "quote fields that contain commas or newlines");
    if (auto added = add(header->line(fields), where); !added) return added;
  }
}

Result<> Review::add(ReviewLine line, const std::string& where) {
  auto word = decision_of(line.fields[ReviewLine::decision]);
  if (!word)
    return fail(fmt::format("{}: '{}' is not a decision", where,
                            to_plain_text(shorten(line.fields[ReviewLine::decision], 40))),
                "write keep or drop, or leave it empty");
  if (*word != Decision::none) {
    Decision& now = decisions_[line.fields[ReviewLine::id]];
    if (now != Decision::drop) now = *word;
  }
  lines_.push_back(std::move(line));
  return {};
}

Decision Review::decision(const std::string& id) const {
  auto found = decisions_.find(id);
  return found == decisions_.end() ? Decision::none : found->second;
}

Result<> Review::write(const std::vector<Flagged>& flagged, const fs::path& path) const {
  // A file merged by hand may have several lines with one key. The first is updated; the others follow.
  std::map<Key, const ReviewLine*> before;
  for (const ReviewLine& line : lines_) {
    const ReviewLine*& first = before.try_emplace(key_of(line), &line).first->second;
    if (!has_words_of_people(*first)) first = &line;
  }
  auto file = NewFile::create(path);
  if (!file) return std::unexpected(file.error());
  std::vector<std::string_view> columns(names.begin(), names.end());
  columns.insert(columns.end(), other_columns_.begin(), other_columns_.end());
  if (auto written = file->write(table::csv_record(columns)); !written) return written;

  std::set<Key> now;
  std::set<const ReviewLine*> carried;
  for (const Flagged& row : flagged)
    for (ReviewLine& line : review_lines(row)) {
      if (!now.insert(key_of(line)).second) continue;
      if (auto found = before.find(key_of(line)); found != before.end()) {
        carried.insert(found->second);
        for (auto column : by_people) line.fields[column] = found->second->fields[column];
        line.others = found->second->others;
      }
      if (auto written = file->write(record_of(line, other_columns_.size())); !written) return written;
    }
  for (const ReviewLine& line : lines_) {
    if (carried.contains(&line) || !has_words_of_people(line)) continue;
    if (auto written = file->write(record_of(line, other_columns_.size())); !written) return written;
  }
  return file->finish();
}

}  // namespace kw::dataset
