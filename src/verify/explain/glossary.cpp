#include "verify/explain/glossary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/core/text.h"
#include "verify/explain/words.h"

namespace kw::explain {
namespace {

// "the task is at fault" → "The task is at fault."
std::string sentence(std::string_view phrase) {
  std::string text(phrase);
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + ".";
}

std::string meaning_of(Stage stage) {
  return fmt::format("The last stage of the verdict. In this stage {}.", words_of(stage));
}
std::string meaning_of(Trust trust) {
  return sentence(words_of(trust));
}
std::string meaning_of(Fault fault) {
  return sentence(words_of(fault));
}
std::string meaning_of(Shapes shapes) {
  return sentence(words_of(shapes));
}
std::string meaning_of(IsolationLevel level) {
  return sentence(words_of(level));
}

template <typename Enum>
void add(WordKind kind, std::vector<Entry>& entries) {
  for (std::string_view word : enum_words<Enum>) {
    const Enum value = *from_string<Enum>(word);
    if constexpr (requires { words_of(value).advice; })
      entries.push_back({kind, word, std::string(words_of(value).what), words_of(value).advice});
    else
      entries.push_back({kind, word, meaning_of(value), advice_of(value)});
  }
}

void add(WordKind kind, std::span<const NamedWords> all, std::vector<Entry>& entries) {
  for (const auto& [name, words] : all)
    entries.push_back({kind, name, std::string(words.what), words.advice});
}

std::vector<Entry> all_entries() {
  std::vector<Entry> entries;
  add<Status>(WordKind::status, entries);
  add<ErrorClass>(WordKind::error_class, entries);
  add<CountsReason>(WordKind::counts_reason, entries);
  add<Flag>(WordKind::flag, entries);
  add<Trust>(WordKind::trust, entries);
  add<Shapes>(WordKind::shapes, entries);
  add<ShapeGenerality>(WordKind::other_shapes, entries);
  add<FamilyOutcome>(WordKind::family_outcome, entries);
  add(WordKind::family, words_of_families(), entries);
  add<Stage>(WordKind::stage, entries);
  add<Fault>(WordKind::fault, entries);
  add<IsolationLevel>(WordKind::isolation, entries);
  add<Sanitizer>(WordKind::sanitizer, entries);
  add<SanitizerOutcome>(WordKind::sanitizer_outcome, entries);
  add<StopReason>(WordKind::stop_reason, entries);
  add(WordKind::answer, words_of_answers(), entries);
  add<TaskMark>(WordKind::task_mark, entries);
  return entries;
}

std::string_view in_words(WordKind kind) {
  switch (kind) {
    case WordKind::status:
      return "status";
    case WordKind::error_class:
      return "error class";
    case WordKind::counts_reason:
      return "reason why a right result does not count";
    case WordKind::flag:
      return "field that is true, false or null";
    case WordKind::trust:
      return "trust: the method of judging";
    case WordKind::shapes:
      return "shapes";
    case WordKind::other_shapes:
      return "result at other shapes";
    case WordKind::family_outcome:
      return "result on a family of inputs, or at another shape";
    case WordKind::family:
      return "family of inputs, or kind of other shapes";
    case WordKind::stage:
      return "stage";
    case WordKind::fault:
      return "fault";
    case WordKind::isolation:
      return "level of isolation";
    case WordKind::sanitizer:
      return "check of --sanitize";
    case WordKind::sanitizer_outcome:
      return "result of a check of --sanitize";
    case WordKind::stop_reason:
      return "reason why a conversation ended";
    case WordKind::answer:
      return "answer that a task may let pass";
    case WordKind::task_mark:
      return "mark of a task";
  }
  return {};
}

std::string normal(std::string_view word) {
  std::string text = lower(trim(word));
  std::ranges::replace(text, '-', '_');
  return text;
}

// Whether "memory" is one of the parts of "out_of_memory".
bool has_part(std::string_view word, std::string_view part) {
  return part.size() > 2 && fmt::format("_{}_", normal(word)).contains(fmt::format("_{}_", part));
}

template <typename Predicate>
std::vector<Entry> entries_where(Predicate holds) {
  std::vector<Entry> found;
  std::ranges::copy_if(glossary(), std::back_inserter(found), holds);
  return found;
}

}  // namespace

const std::vector<Entry>& glossary() {
  static const std::vector<Entry> entries = all_entries();
  return entries;
}

Result<std::vector<Entry>> entries_of(std::string_view word) {
  const std::string wanted = normal(word);
  auto found = entries_where([&](const Entry& entry) { return normal(entry.word) == wanted; });
  if (found.empty())
    found = entries_where([&](const Entry& entry) { return has_part(to_string(entry.kind), wanted); });
  if (found.empty()) found = entries_where([&](const Entry& entry) { return has_part(entry.word, wanted); });
  if (!found.empty()) return found;
  std::vector<std::string> words;
  for (const Entry& entry : glossary()) words.emplace_back(entry.word);
  std::ranges::sort(words);
  words.erase(std::ranges::unique(words).begin(), words.end());
  const std::string near = nearest(wanted, words);
  return fail(fmt::format("\"{}\" is no word of a verdict{}", visible_line(word),
                          near.empty() ? "" : fmt::format("; the nearest is {}", near)),
              fmt::format("the words are: {}", fmt::join(words, ", ")));
}

namespace {

void say(std::string& text, std::string_view prefix, std::string_view words, const Style& style) {
  const std::size_t used = 2 + prefix.size();
  std::vector<std::string> lines = wrapped(words, style.width - std::min(style.width - 1, used));
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += i == 0 ? fmt::format("  {}{}\n", prefix, lines[i])
                   : fmt::format("  {:{}}{}\n", "", prefix.size(), lines[i]);
}

}  // namespace

std::string to_terminal(const Entry& entry, const Style& style) {
  std::string text = fmt::format("{} ({})\n", entry.word, in_words(entry.kind));
  say(text, "", entry.what, style);
  say(text, "help: ", entry.advice, style);
  return text;
}

std::string word_list(const Style& style) {
  std::size_t widest = 0;
  for (const Entry& entry : glossary()) widest = std::max(widest, entry.word.size());
  std::string text;
  const Entry* before = nullptr;
  for (const Entry& entry : glossary()) {
    if (before == nullptr || before->kind != entry.kind)
      text += fmt::format("{}{}\n", before == nullptr ? "" : "\n", in_words(entry.kind));
    say(text, fmt::format("{:{}}  ", entry.word, widest), entry.what, style);
    before = &entry;
  }
  return text;
}

}  // namespace kw::explain
