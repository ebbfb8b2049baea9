#include "score/review_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "base/files.h"
#include "base/text.h"
#include "score/review_words.h"
#include "table/rows.h"

namespace kw::score {
namespace {

constexpr std::array<std::pair<ReviewLabel, std::string_view>, 6> labels = {
    {{ReviewLabel::good, "good"},
     {ReviewLabel::wrong_idiom, "wrong_idiom"},
     {ReviewLabel::unreadable, "unreadable"},
     {ReviewLabel::suspicious, "suspicious"},
     {ReviewLabel::keep, "keep"},
     {ReviewLabel::drop, "drop"}}};

constexpr std::size_t longest_cell = 30'000;  // Excel cuts at 32,767

// Spreadsheets take =, +, -, @ for a formula's beginning; "@triton.jit" is none.
std::string cell(std::string text) {
  text = to_plain_text(shorten(text, longest_cell));
  if (!text.empty() && std::string_view("=+-@\t").contains(text.front())) text.insert(0, 1, ' ');
  return text;
}

// Longer than any run of its character in the text, so that no text can end it.
std::string fence_for(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (char c : text) {
    run = c == '~' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max<std::size_t>(longest + 1, 3), '~');
}

std::string fenced(std::string_view text, std::string_view language) {
  std::string plain = to_plain_text(text);
  std::string fence = fence_for(plain);
  std::string_view newline = plain.ends_with('\n') ? "" : "\n";
  return fmt::format("{}{}\n{}{}{}\n", fence, language, plain, newline, fence);
}

std::string label_words() {
  std::string words;
  for (const auto& [label, word] : labels) words += fmt::format("{}{}", words.empty() ? "" : ", ", word);
  return words;
}

std::string markdown_entry(const ReviewTarget& target, std::size_t number, std::size_t of,
                           bool show_findings) {
  std::string entry = fmt::format("\n## {} of {}\n\n- target: {}\n- label:\n- reviewer:\n- note:\n- at:\n\n",
                                  number, of, shown_target(target.target));
  if (show_findings)
    entry += fmt::format("Status {}, source {}. Automatic checks:\n\n{}\n", shown_target(target.status),
                         shown_target(target.source), fenced(target.findings, "text"));
  return entry + fenced(target.text, shown_target(target.language));
}

}  // namespace

std::string shown_target(std::string_view target) {
  std::string plain = to_plain_text(target);
  std::ranges::replace_if(plain, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return std::string(trim(plain));
}

std::string_view to_string(ReviewLabel label) {
  return std::ranges::find(labels, label, &std::pair<ReviewLabel, std::string_view>::first)->second;
}

std::optional<ReviewLabel> review_label(std::string_view word) {
  std::string small = lower(trim(word));
  std::ranges::replace_if(small, [](char c) { return c == '-' || c == ' '; }, '_');
  auto found = std::ranges::find(labels, small, &std::pair<ReviewLabel, std::string_view>::second);
  if (found == labels.end()) return {};
  return found->first;
}

bool is_favourable(ReviewLabel label) {
  return label == ReviewLabel::good || label == ReviewLabel::keep;
}

Result<> write_review_csv(const std::vector<ReviewTarget>& targets, const Draw& draw,
                          const SheetOptions& options, const std::filesystem::path& path) {
  std::vector<std::string_view> header = {"number"};
  header.insert(header.end(), review_columns.begin(), review_columns.end());
  if (options.show_findings) header.insert(header.end(), {"status", "source", "findings"});
  header.emplace_back("text");
  std::string sheet = table::csv_record(header);
  std::size_t number = 0;
  for (std::size_t chosen : draw.chosen) {
    const ReviewTarget& target = targets.at(chosen);
    std::vector<std::string> cells = {
        std::to_string(++number), cell(shown_target(target.target)), "", "", "", ""};
    if (options.show_findings)
      cells.insert(cells.end(), {cell(target.status), cell(target.source), cell(target.findings)});
    cells.push_back(cell(target.text));
    sheet += table::csv_record({cells.begin(), cells.end()});
  }
  return write_file(path, sheet);
}

Result<> write_review_markdown(const std::vector<ReviewTarget>& targets, const Draw& draw,
                               const SheetOptions& options, const std::filesystem::path& path) {
  std::string sheet = fmt::format(
      "# {}\n\nWrite one of {} behind \"label:\", your name behind \"reviewer:\", and what you like behind "
      "\"note:\". "
      "Entries without a label are left for later.\n",
      shown_target(options.title), label_words());
  std::size_t number = 0;
  for (std::size_t chosen : draw.chosen)
    sheet += markdown_entry(targets.at(chosen), ++number, draw.chosen.size(), options.show_findings);
  return write_file(path, sheet);
}

std::vector<Review> merged(std::vector<Review> earlier, const std::vector<Review>& later) {
  for (const Review& review : later) {
    auto same = [&](const Review& other) {
      return other.target == review.target && other.reviewer == review.reviewer;
    };
    auto found = std::ranges::find_if(earlier, same);
    if (found == earlier.end())
      earlier.push_back(review);
    else
      *found = review;
  }
  return earlier;
}

}  // namespace kw::score
