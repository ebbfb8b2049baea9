#include "explain/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/display.h"
#include "base/text.h"

namespace kw::explain {
namespace {

constexpr std::size_t longest_text = 1500;  // of an error, in bytes
constexpr std::size_t longest_finding = 400;
constexpr std::size_t longest_file = 60;
constexpr std::size_t most_findings = 5;
constexpr std::size_t most_lines = 12;  // of one text
constexpr std::string_view indent = "  ";

// A line of source, with blanks for tabs.
std::string shown(std::string_view source) {
  if (source.ends_with('\r')) source.remove_suffix(1);
  return visible_line(source);
}

class Page {
 public:
  Page(const Explanation& it, const Style& style)
      : it_(it), style_(style), room_(style.width - std::min(style.width, indent.size() + 1)) {}

  std::string text() && {
    std::string head = fmt::format("{}: {}", shown(it_.id), in_short(it_.status, it_.counts, it_.rule));
    text_ = style_.paint(fitted(head, style_.width), colour_of(it_.level)) + "\n";
    say(it_.words.what);
    say_error();
    if (it_.line > 0) say_place();
    say_numbers();
    for (std::size_t i = 0; i < std::min(it_.findings.size(), most_findings); ++i)
      say("note: ", shorten(visible(it_.findings[i]), longest_finding));
    // What does not parse is not what its tree seems to be.
    if (it_.rule != to_string(ErrorClass::syntax_error))
      for (const Hint& hint : it_.hints) say_hint(hint);
    if (!it_.words.advice.empty()) say("help: ", it_.words.advice);
    if (!it_.circumstances.empty()) say("= ", it_.circumstances, Colour::grey);
    return std::move(text_);
  }

 private:
  void line(std::string_view words, Colour colour = Colour::none) {
    text_ += fmt::format("{}{}\n", indent, style_.paint(words, colour));
  }

  // Wrapped; what follows the first line stands below the words behind the prefix.
  void say(std::string_view prefix, std::string_view words, Colour colour = Colour::none) {
    std::vector<std::string> lines = wrapped(words, room_ - std::min(room_, prefix.size()));
    std::size_t shown_lines = std::min(lines.size(), most_lines);
    for (std::size_t i = 0; i < shown_lines; ++i)
      line(i == 0 ? fmt::format("{}{}", prefix, lines[i])
                  : fmt::format("{:{}}{}", "", prefix.size(), lines[i]),
           colour);
    if (lines.size() > shown_lines)
      line(fmt::format("[... {} lines left out]", lines.size() - shown_lines), Colour::grey);
  }
  void say(std::string_view words) { say("", words); }

  // Where the caret stands in our own excerpt, the compiler's need not be shown.
  void say_error() {
    bool shows_compiler = !it_.compiler_text.empty() && !it_.compiler_points_there;
    if (!it_.error.empty() && !(shows_compiler && it_.compiler_says_error))
      say(shorten(visible(trim(it_.error)), longest_text));
    if (!shows_compiler) return;
    line("The compiler says:");
    std::vector<std::string> lines =
        wrapped(tail_of(shown_lines_of(it_.compiler_text), longest_text), room_ - indent.size());
    for (std::size_t i = lines.size() - std::min(lines.size(), most_lines); i < lines.size(); ++i)
      line(fmt::format("{}{}", indent, lines[i]));
  }

  static std::string shown_lines_of(std::string_view text) {
    std::string all;
    while (!text.empty()) {
      std::size_t end = std::min(text.find('\n'), text.size());
      all += shown(text.substr(0, end)) + "\n";
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return all;
  }

  void say_place() {
    std::string place = fmt::format("--> {}:{}", fitted(shown(it_.file), longest_file), it_.line);
    if (it_.excerpt && it_.excerpt->span) place += fmt::format(":{}", columns_of(*it_.excerpt).begin);
    line(place);
    if (it_.excerpt) say_excerpt(*it_.excerpt);
  }

  void say_excerpt(const Excerpt& excerpt) {
    std::size_t room = room_ - std::min(room_ - 1, gutter(excerpt, excerpt.lines.front()).size());
    auto meant = std::ranges::find(excerpt.lines, excerpt.line, &SourceLine::number);
    std::pair<std::size_t, std::size_t> span;
    if (excerpt.span)
      span = {cells(shown(meant->text.substr(0, excerpt.span->begin))),
              cells(shown(meant->text.substr(0, excerpt.span->end)))};
    // Long lines are shown around the caret, all alike.
    std::size_t from = span.second < room ? 0 : span.first - std::min(span.first, room / 3);
    for (const SourceLine& source : excerpt.lines) {
      std::string words = gutter(excerpt, source) + window(shown(source.text), from, room);
      words.erase(words.find_last_not_of(' ') + 1);
      line(words);
      if (source.number == excerpt.line && excerpt.span)
        line(fmt::format("  {:4} | {:{}}{}", "", "", span.first - from,
                         style_.paint(std::string(underline(span, from + room), '^'), colour_of(it_.level))));
    }
  }

  static std::size_t underline(std::pair<std::size_t, std::size_t> span, std::size_t end) {
    std::size_t last = std::min(span.second, end);
    return last > span.first ? last - span.first : 1;
  }

  void say_numbers() {
    if (!it_.mismatch) return;
    Mismatch worth = *it_.mismatch;
    if (worth.max_abs_error == 0) worth.max_abs_error.reset();
    if (worth.max_rel_error == 0) worth.max_rel_error.reset();
    std::string words = in_words(worth);
    if (!words.empty()) say(shorten(visible(trim(words)), longest_text));
  }

  void say_hint(const Hint& hint) {
    std::string place = hint.line == 0 ? "" : fmt::format("line {}: ", hint.line);
    say("note: ", place + shorten(visible(hint.text), longest_finding));
    if (hint.excerpt) say_excerpt(*hint.excerpt);
  }

  const Explanation& it_;
  const Style& style_;
  std::size_t room_;
  std::string text_;
};

}  // namespace

Colour colour_of(Level level) {
  switch (level) {
    case Level::none:
      return Colour::green;
    case Level::note:
      return Colour::grey;
    case Level::warning:
      return Colour::yellow;
    case Level::error:
      return Colour::red;
  }
  return Colour::none;
}

std::string to_terminal(const Explanation& explanation, const Style& style) {
  return Page(explanation, style).text();
}

}  // namespace kw::explain
