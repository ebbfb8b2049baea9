#include "table/csv.h"

#include <algorithm>

#include "table/rows.h"

namespace kw::table {

// Linear, whatever the bytes: the next newline is looked for again only when the last one found lies behind.
std::size_t CsvCutter::end_of_record(std::string_view piece) {
  std::size_t at = 0;
  std::size_t newline = 0;
  bool known = false;
  while (at < piece.size()) {
    switch (state_) {
      case State::field:
        state_ = piece[at] == '"' ? State::quoted : State::plain;
        if (state_ == State::quoted) ++at;
        break;
      case State::plain: {
        if (!known || newline < at) {
          newline = std::min(piece.find('\n', at), piece.size());
          known = true;
        }
        std::size_t comma = piece.substr(0, newline).find(',', at);
        if (comma != std::string_view::npos) {
          at = comma + 1;
          state_ = State::field;
        } else if (newline < piece.size()) {
          return newline + 1;
        } else {
          return std::string_view::npos;
        }
        break;
      }
      case State::quoted:
        at = piece.find('"', at);
        if (at == std::string_view::npos) return at;
        ++at;
        state_ = State::quote;
        break;
      case State::quote:
        state_ = piece[at] == '"' ? State::quoted : State::plain;
        if (state_ == State::quoted) ++at;
        break;
    }
  }
  return std::string_view::npos;
}

namespace {

// The rest of a field that began with a quote, from the byte after it; where the field's plain end begins.
Result<std::size_t> quoted_part(std::string_view record, std::size_t at, std::string& field) {
  while (true) {
    std::size_t quote = record.find('"', at);
    if (quote == std::string_view::npos)
      return fail("a quote is opened and never closed", "double each quote within a quoted field");
    field.append(record, at, quote - at);
    if (quote + 1 == record.size() || record[quote + 1] != '"') return quote + 1;
    field += '"';
    at = quote + 2;
  }
}

}  // namespace

Result<> csv_fields(std::string_view record, std::vector<std::string>& fields) {
  std::size_t count = 0;
  for (std::size_t at = 0;; ++at) {
    if (count == fields.size()) fields.emplace_back();
    std::string& field = fields[count++];
    field.clear();
    if (at < record.size() && record[at] == '"') {
      auto end = quoted_part(record, at + 1, field);
      if (!end) return std::unexpected(end.error());
      at = *end;
    }
    std::size_t comma = std::min(record.find(',', at), record.size());
    field.append(record, at, comma - at);
    at = comma;
    if (at == record.size()) break;
  }
  fields.resize(count);
  return {};
}

std::string csv_record(const std::vector<std::string_view>& fields) {
  std::string record;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) record += ',';
    std::string_view field = fields[i];
    // A record of one empty field would look like a blank line; spaces at the ends are lost on some readers.
    bool quotes = field.find_first_of(",\"\r\n") != std::string_view::npos ||
                  (field.empty() && fields.size() == 1) || field.starts_with(' ') || field.ends_with(' ');
    if (!quotes) {
      record += field;
      continue;
    }
    record += '"';
    for (std::size_t at = 0; at <= field.size();) {
      std::size_t quote = field.find('"', at);
      record += field.substr(at, quote - at);
      if (quote == std::string_view::npos) break;
      record += "\"\"";
      at = quote + 1;
    }
    record += '"';
  }
  record += '\n';
  return record;
}

}  // namespace kw::table
