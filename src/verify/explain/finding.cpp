#include "verify/explain/finding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/crypto.h"
#include "base/core/display.h"
#include "base/core/text.h"
#include "verify/explain/glossary.h"
#include "verify/explain/words.h"

namespace kw::explain {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t longest_error = 1500;  // in bytes
constexpr std::size_t longest_note = 400;
constexpr std::size_t longest_shown_name = 200;
constexpr std::size_t most_notes = 5;
constexpr std::size_t most_bad_rows = 100;
constexpr std::string_view uncounted = "does_not_count";

// Foreign text is cut before it is escaped, so that a long one costs no time, and after it.
std::string cut_line(std::string_view text, std::size_t most) {
  return shorten(visible_line(shorten(text, 2 * most)), most);
}
std::string cut_lines(std::string_view text, std::size_t most) {
  return shorten(visible(shorten(trim(text), 2 * most)), most);
}

std::string rule_of(const Explanation& it) {
  if (it.status == Status::correct)
    return it.rule.empty() ? std::string(uncounted) : fmt::format("{}/{}", uncounted, it.rule);
  return it.rule.empty() ? std::string(to_string(it.status)) : it.rule;
}

std::string details_of(const Explanation& it) {
  std::string text;
  auto say = [&](std::string_view prefix, const std::string& words) {
    if (!words.empty()) text += fmt::format("{}{}\n", prefix, words);
  };
  say("", cut_lines(it.error, longest_error));
  // A compiler says its error last.
  if (!it.compiler_text.empty() && !it.compiler_says_error)
    say("", visible(trim(tail_of(it.compiler_text, longest_error))));
  if (it.mismatch) say("", cut_lines(in_words(*it.mismatch), longest_note));
  for (std::size_t i = 0; i < std::min(it.findings.size(), most_notes); ++i)
    say("note: ", cut_line(it.findings[i], longest_note));
  if (it.rule != to_string(ErrorClass::syntax_error))
    for (const Hint& hint : it.hints)
      say("note: ",
          (hint.line == 0 ? "" : fmt::format("line {}: ", hint.line)) + cut_line(hint.text, longest_note));
  for (const std::string& cause : it.causes) say("note: ", cut_line(cause, longest_note));
  if (!text.empty()) text.pop_back();
  return text;
}

const SourceLine* marked_line(const Explanation& it) {
  if (!it.excerpt) return nullptr;
  auto found = std::ranges::find(it.excerpt->lines, it.excerpt->line, &SourceLine::number);
  return found == it.excerpt->lines.end() ? nullptr : &*found;
}

// The file that the explanation is about, and whether its line is a line of that file.
std::pair<const Origin*, bool> file_of(const Verdict& verdict, const Explanation& it,
                                       const Origins& origins) {
  const bool reference = it.file == "reference.py" || (it.file.empty() && verdict.fault == Fault::task);
  const Origin& origin = reference ? origins.reference : origins.candidate;
  if (reference && origin.path.empty()) return {&origins.candidate, false};
  return {&origin, it.file == "reference.py" || it.file == "kernel.py"};
}

std::optional<Place> located(const Verdict& verdict, const Explanation& it, const Origins& origins,
                             const fs::path& working_directory) {
  auto [origin, has_line] = file_of(verdict, it, origins);
  if (origin->path.empty()) return {};
  Place place = place_of(origin->path, working_directory);
  if (origin->in_row) {
    place.line = origin->line;
    return place;
  }
  if (!has_line || it.line == 0 || origin->line == 0) return place;
  place.line = origin->line - 1 + it.line;
  if (it.excerpt && it.excerpt->span) {
    const Span columns = columns_of(*it.excerpt);
    place.column = columns.begin;
    place.end_column = std::max(columns.end, columns.begin + 1);
  }
  return place;
}

// Without line numbers: the rule, the file, and the text of the marked line, or the id where no line is
// known.
std::string fingerprint_of(const Finding& it, const Explanation& explanation, const Origins& origins) {
  const SourceLine* line = marked_line(explanation);
  const bool in_row = origins.candidate.in_row;
  return sha256_hex_of({it.rule, it.place ? it.place->path : "", line ? trim(line->text) : "",
                        line && !in_row ? "" : explanation.id});
}

}  // namespace

Place place_of(const std::string& path, const fs::path& working_directory) {
  Place place;
  const fs::path whole = (working_directory / path).lexically_normal();
  const fs::path relative = whole.lexically_relative(working_directory.lexically_normal());
  place.is_inside = !relative.empty() && *relative.begin() != "..";
  place.path = place.is_inside ? relative.string() : whole.string();
  return place;
}

Finding finding_of(const Verdict& verdict, const Sources& sources, const Origins& origins,
                   std::optional<double> speedup, const fs::path& working_directory) {
  const Explanation it = explain(verdict, sources);
  Finding finding;
  finding.level = it.level;
  finding.rule = rule_of(it);
  finding.id = cut_line(it.id, longest_shown_name);
  finding.task_id = cut_line(verdict.task_id, longest_shown_name);
  finding.in_short = in_short(it.status, it.counts, it.rule);
  finding.sentence = it.words.what;
  finding.details = details_of(it);
  finding.advice = it.words.advice;
  finding.place = located(verdict, it, origins, working_directory);
  finding.fingerprint = fingerprint_of(finding, it, origins);
  finding.status = it.status;
  finding.counts = it.counts;
  finding.speedup = speedup;
  finding.trust = verdict.trust;
  finding.candidate_sha256 = cut_line(verdict.candidate_sha256, 64);
  return finding;
}

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> made;
    for (const Entry& entry : glossary()) {
      Rule rule{std::string(entry.word), entry.what, std::string(entry.advice), Level::error};
      if (entry.kind == WordKind::counts_reason) {
        rule.id = fmt::format("{}/{}", uncounted, entry.word);
        rule.level = Level::warning;
      } else if (entry.kind == WordKind::status) {
        const Status status = *from_string<Status>(entry.word);
        if (status == Status::correct)
          rule = {std::string(uncounted), std::string(did_not_count.what), "", Level::warning};
        else
          rule.level = level_of(status, {});
      } else if (entry.kind != WordKind::error_class) {
        continue;
      }
      made.push_back(std::move(rule));
    }
    return made;
  }();
  return rules;
}

void Findings::add(Finding finding) {
  ++counts_[finding.level];
  std::vector<Finding>& kept = by_level_[finding.level];
  auto place = std::ranges::upper_bound(kept, finding.position, {}, &Finding::position);
  kept.insert(place, std::move(finding));
  if (kept.size() > most_) kept.pop_back();
}

void Findings::add_bad_row(std::string_view words, std::optional<Place> place) {
  if (++bad_row_count_ <= most_bad_rows)
    bad_rows_.push_back({cut_lines(words, longest_error), std::move(place)});
}

std::size_t Findings::count(Level level) const {
  auto found = counts_.find(level);
  return found == counts_.end() ? 0 : found->second;
}

std::size_t Findings::total() const {
  std::size_t sum = right_;
  for (const auto& [level, count] : counts_) sum += count;
  return sum;
}

}  // namespace kw::explain
