// The sentences for the enumerations of a verdict. Each function has one for every value; no other file has
// any.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "types/certificate.h"
#include "types/enums.h"
#include "types/generality.h"
#include "types/sanitized.h"
#include "types/trace.h"

namespace kw::explain {

struct Words {
  std::string_view what;    // what happened, one sentence
  std::string_view advice;  // what usually helps; may be empty
  // Text for a model that replaces both sentences; empty: both are used. A change affects the answers of
  // models and so the comparability of runs.
  std::string_view told = {};
};

// For a verdict without an error class. Models are told this of classes that once had no sentence.
inline constexpr std::string_view did_not_work = "It did not work.";

// For a right result that does not count, for a reason that is missing or that only a newer version knows.
inline constexpr Words did_not_count{"The result is right, but it does not count.", ""};

Words words_of(Status status);
Words words_of(ErrorClass error_class);
// The reason why a correct answer does not count.
Words words_of(CountsReason reason);

// The meaning of a mark of `certify`.
Words words_of(TaskMark mark);

// What a check of --sanitize looks for.
Words words_of(Sanitizer check);

// A word of `generality` and `sanitized`, and why a conversation ended.
Words words_of(ShapeGenerality shapes);
Words words_of(FamilyOutcome outcome);
Words words_of(SanitizerOutcome outcome);
Words words_of(StopReason reason);

// A word that is of no enumeration.
struct NamedWords {
  std::string_view name;
  Words words;
};
// Families of inputs and kinds of other shapes.
std::span<const NamedWords> words_of_families();
// Empty answers and incomplete computations, which a task may let pass.
std::span<const NamedWords> words_of_answers();

// The event of a stage: "its kernels are compiled".
std::string_view words_of(Stage stage);
std::string_view words_of(Fault fault);
// `timed`: a time was measured, so that the sentence says whether it can be trusted.
std::string_view words_of(Trust trust, bool timed = true);
std::string_view words_of(Shapes shapes);
std::string_view words_of(IsolationLevel level);

// What a person does about a verdict with this word.
std::string_view advice_of(Stage stage);
std::string_view advice_of(Fault fault);
std::string_view advice_of(Trust trust);
std::string_view advice_of(Shapes shapes);
std::string_view advice_of(IsolationLevel level);

// The fields of a verdict that are true, false or null.
BOOST_DEFINE_ENUM_CLASS(Flag, correctness, counts, fast_0, fast_1, fast_2)
Words words_of(Flag flag);

// The event of an error class or a reason, by its name; empty for other names.
template <typename Enum>
std::string_view sentence_of(std::string_view name) {
  auto value = from_string<Enum>(name);
  return value ? words_of(*value).what : std::string_view();
}

// "failed (out_of_bounds)", "correct, does not count (library_only)": `why` is the error class, the reason
// why the answer does not count, or empty.
std::string in_short(Status status, std::optional<bool> counts, std::string_view why);

}  // namespace kw::explain
