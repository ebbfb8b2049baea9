#include "score/report/review_sheet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/rows/rows.h"
#include "score/metrics/intervals.h"

namespace kw::score {
namespace {

constexpr std::size_t longest_cell = 30'000;  // Excel truncates at 32,767

// Spreadsheets read a leading =, +, - or @ as a formula, also that of "@triton.jit".
std::string cell(std::string text) {
  text = to_plain_text(shorten(text, longest_cell));
  if (!text.empty() && std::string_view("=+-@\t").contains(text.front())) text.insert(0, 1, ' ');
  return text;
}

// A fence longer than any run of its character in the text, so that the text cannot end it.
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
      "# {}\n\nAfter \"label:\" write one of {}, after \"reviewer:\" your name, and after \"note:\" any "
      "comment. Entries without a label stay open.\n",
      shown_target(options.title), fmt::join(enum_words<ReviewLabel>, ", "));
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

namespace {

// Sets the number drawn from each stratum: at least one while `count` allows, the rest in proportion to the
// remaining sizes.
void allot(std::vector<Stratum>& strata, std::size_t count) {
  std::vector<std::size_t> by_size(strata.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::ranges::sort(by_size, [&](std::size_t a, std::size_t b) {
    return strata[a].size != strata[b].size ? strata[a].size > strata[b].size : a < b;
  });
  std::size_t left = count;
  for (std::size_t i : by_size) {
    if (left == 0) return;
    strata[i].drawn = 1;
    --left;
  }
  std::size_t others = 0;
  for (const Stratum& stratum : strata) others += stratum.size - stratum.drawn;
  if (others == 0) return;
  std::size_t shared = std::min(left, others);
  std::vector<std::pair<std::size_t, std::size_t>> remainders;  // remainder, stratum
  for (std::size_t i : by_size) {
    std::size_t product = shared * (strata[i].size - 1);
    strata[i].drawn += product / others;
    left -= product / others;
    remainders.emplace_back(product % others, i);
  }
  std::ranges::sort(remainders, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (const auto& [remainder, i] : remainders) {
    if (left == 0 || remainder == 0) return;
    ++strata[i].drawn;
    --left;
  }
}

}  // namespace

Draw draw(const std::vector<ReviewTarget>& targets, std::size_t count, std::uint64_t seed) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < targets.size(); ++i)
    groups[{targets[i].status, targets[i].source}].push_back(i);
  Draw result;
  result.seed = seed;
  for (const auto& [key, members] : groups)
    result.strata.push_back({key.first, key.second, members.size(), 0});
  allot(result.strata, std::min(count, targets.size()));
  Generator generator(seed);
  std::size_t stratum = 0;
  for (auto& [key, members] : groups) {
    // The draw must not depend on the order of the targets.
    std::ranges::sort(members, {},
                      [&](std::size_t i) { return std::pair(std::string_view(targets[i].target), i); });
    generator.shuffle(members);
    auto end = members.begin() + static_cast<std::ptrdiff_t>(result.strata[stratum++].drawn);
    result.chosen.insert(result.chosen.end(), members.begin(), end);
  }
  generator.shuffle(result.chosen);
  return result;
}

}  // namespace kw::score
