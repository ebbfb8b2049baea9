// The sentences behind the words of a verdict. Each has one for every value; nothing else words them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/enums.h"

namespace kw::explain {

struct Words {
  std::string_view what;    // what happened, one sentence
  std::string_view advice;  // what usually helps; may be empty
  // What a model is told of its answer instead of both; empty: both as they are. A changed sentence changes
  // what models answer, and so what runs compare with.
  std::string_view told = {};
};

Words words_of(ErrorClass error_class);
// Why a right answer does not count.
Words words_of(CountsReason reason);

// What happens in it: "its kernels are compiled".
std::string_view words_of(Stage stage);
std::string_view words_of(Fault fault);
std::string_view words_of(Trust trust);

// What happened, by the name of a class or a reason; nothing for another word.
template <typename Enum>
std::string_view sentence_of(std::string_view name) {
  auto value = from_string<Enum>(name);
  return value ? words_of(*value).what : std::string_view();
}

// "failed (out_of_bounds)", "correct, does not count (library_only)": `why` is the error class, or the reason
// why it does not count, or empty.
std::string in_short(Status status, std::optional<bool> counts, std::string_view why);

}  // namespace kw::explain
