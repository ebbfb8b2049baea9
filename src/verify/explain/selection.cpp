#include "verify/explain/selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"

namespace kw::explain {
namespace {

bool is_right(Status status, std::optional<bool> counts) {
  return status == Status::correct && counts.value_or(true);
}

std::vector<std::string> all_words() {
  std::vector<std::string> words{"failed", "right", "wrong"};
  auto add = [&words](const auto& more) { words.insert(words.end(), more.begin(), more.end()); };
  add(enum_words<Status>);
  add(enum_words<ErrorClass>);
  add(enum_words<CountsReason>);
  return words;
}

}  // namespace

bool Selection::holds(Status status, std::optional<bool> counts, std::string_view why) const {
  return words.empty() || std::ranges::any_of(words, [&](const std::string& word) {
           if (word == "failed") return !is_right(status, counts);
           if (word == "right") return is_right(status, counts);
           if (word == "wrong") return status == Status::incorrect;
           return word == to_string(status) || word == why;
         });
}

Result<Selection> parse_selection(const std::string& text) {
  const std::vector<std::string> known = all_words();
  Selection selection;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::string word(trim(std::string_view(text).substr(at, end - at)));
    if (std::ranges::find(known, word) == known.end()) {
      const std::string near = nearest(word, known);
      return fail(
          fmt::format("\"{}\" is none of failed, right, wrong, a status, an error class, or a reason "
                      "why a result does not count{}; `kernelwright explain` lists the words",
                      word, near.empty() ? "" : fmt::format(". The nearest is {}", near)));
    }
    selection.words.push_back(std::move(word));
    at = end + 1;
  }
  return selection;
}

}  // namespace kw::explain
