#include "results/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/display.h"
#include "explain/terminal.h"

namespace kw {
namespace {

using Cells = std::array<std::string, 6>;

constexpr std::size_t widest_id = 44;

Colour colour(const ResultRow& row) {
  return explain::colour_of(explain::level_of(row.status, row.counts));
}

std::string counts_cell(const ResultRow& row) {
  if (!row.counts) return "-";
  return *row.counts ? "yes" : fmt::format("no: {}", row.why);
}

Cells cells_of(const ResultRow& row) {
  return {fitted(visible_line(row.id), widest_id),
          fmt::format("{}{}", to_string(row.status), row.reduced ? " (reduced)" : ""),
          row.why.empty() || row.status == Status::correct ? "-" : row.why,
          counts_cell(row),
          row.speedup ? fmt::format("{:.2f}x", *row.speedup) : "-",
          fmt::format("{:.1f} s", row.seconds)};
}

bool is_number(std::size_t column) {
  return column >= 4;
}

std::string line(const Cells& row, const std::array<std::size_t, 6>& widths, Colour colour,
                 const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string blanks(widths[i] - cells(row[i]), ' ');
    std::string cell = i == 1 ? style.paint(row[i], colour) : row[i];
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
  for (const Cells& each : all)
    for (std::size_t i = 0; i < each.size(); ++i) widths[i] = std::max(widths[i], cells(each[i]));
  std::string text = line(head, widths, Colour::none, style);
  for (std::size_t i = 0; i < rows.size(); ++i) text += line(all[i + 1], widths, colour(rows[i]), style);
  return text;
}

}  // namespace kw
