#include "results/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace kw {
namespace {

using Cells = std::array<std::string, 6>;

constexpr std::size_t widest_id = 44;

Colour colour_of(const ResultRow& row) {
  switch (row.status) {
    case Status::correct:
      return row.counts == false ? Colour::yellow : Colour::green;
    case Status::incorrect:
    case Status::failed:
      return Colour::red;
    case Status::skipped:
      return Colour::grey;
    case Status::error:
      break;
  }
  return Colour::yellow;
}

std::size_t width(std::string_view text) {
  // Characters, not bytes: ids may hold any of them.
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The front of the text in at most so many characters, with a mark where something is missing.
std::string fitted(const std::string& text, std::size_t most) {
  if (width(text) <= most) return text;
  std::size_t kept = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && ++kept == most) break;
    ++end;
  }
  return text.substr(0, end) + "…";
}

std::string counts_cell(const ResultRow& row) {
  if (!row.counts) return "-";
  return *row.counts ? "yes" : fmt::format("no: {}", row.counts_reason);
}

Cells cells_of(const ResultRow& row) {
  return {fitted(row.id, widest_id),
          fmt::format("{}{}", to_string(row.status), row.reduced ? " (reduced)" : ""),
          row.error_class.empty() ? "-" : row.error_class,
          counts_cell(row),
          row.speedup ? fmt::format("{:.2f}x", *row.speedup) : "-",
          fmt::format("{:.1f} s", row.seconds)};
}

bool is_number(std::size_t column) {
  return column >= 4;
}

std::string line(const Cells& cells, const std::array<std::size_t, 6>& widths, Colour colour,
                 const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string blanks(widths[i] - width(cells[i]), ' ');
    std::string cell = i == 1 ? style.paint(cells[i], colour) : cells[i];
    text += i == 0 ? "" : "  ";
    text += is_number(i) ? blanks + cell : cell + blanks;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

}  // namespace

std::string table(const std::vector<ResultRow>& rows, const Style& style) {
  const Cells head{"id", "status", "error class", "counts", "speed-up", "time"};
  std::vector<Cells> all{head};
  for (const ResultRow& row : rows) all.push_back(cells_of(row));
  std::array<std::size_t, 6> widths{};
  for (const Cells& cells : all)
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width(cells[i]));
  std::string text = line(head, widths, Colour::none, style);
  for (std::size_t i = 0; i < rows.size(); ++i) text += line(all[i + 1], widths, colour_of(rows[i]), style);
  return text;
}

}  // namespace kw
