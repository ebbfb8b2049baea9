#include "schema/enums.h"

#include "base/enum_words.h"

namespace kw {

BOOST_DESCRIBE_ENUM(Status, correct, incorrect, failed, skipped, error)
BOOST_DESCRIBE_ENUM(Stage, parse, static_, prepare, import_, compile, run, record, replay, judge, time, done)
BOOST_DESCRIBE_ENUM(Fault, kernel, task, infrastructure)
BOOST_DESCRIBE_ENUM(ErrorClass, syntax_error, missing_entry, forbidden, import_error, compile_error,
                    out_of_resources, runtime_error, illegal_memory_access, out_of_bounds, timeout,
                    out_of_memory, process_died, wrong_structure, wrong_shape, wrong_dtype, wrong_value,
                    nonfinite, input_modified, nondeterministic, live_replay_mismatch, task_invalid,
                    unsupported_candidate, too_large, infrastructure)
BOOST_DESCRIBE_ENUM(CountsReason, proves_nothing, library_only, decoy, nondeterministic)
BOOST_DESCRIBE_ENUM(Shapes, given, reduced)
BOOST_DESCRIBE_ENUM(Trust, replay, in_process, interpreter)
BOOST_DESCRIBE_ENUM(IsolationLevel, full, partial, process)

template <>
inline constexpr bool enum_words::is_hyphenated<Trust> = true;

#define KW_WORDS(Enum, last)                                     \
  static_assert(enum_words::is_whole(Enum::last));               \
  std::string_view to_string(Enum value) {                       \
    return enum_words::word_of(value);                           \
  }                                                              \
  template <>                                                    \
  std::optional<Enum> from_string<Enum>(std::string_view name) { \
    return enum_words::value_of<Enum>(name);                     \
  }
KW_WORDS(Status, error)
KW_WORDS(Stage, done)
KW_WORDS(Fault, infrastructure)
KW_WORDS(ErrorClass, infrastructure)
KW_WORDS(CountsReason, nondeterministic)
KW_WORDS(Shapes, reduced)
KW_WORDS(Trust, interpreter)
KW_WORDS(IsolationLevel, process)
#undef KW_WORDS

}  // namespace kw
