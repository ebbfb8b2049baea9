// The closed sets of words in a verdict, with the spelling of the contract.
#pragma once

#include "base/core/words.h"

namespace kw {

BOOST_DEFINE_ENUM_CLASS(Status, correct, incorrect, failed, skipped, error)

BOOST_DEFINE_ENUM_CLASS(Stage, parse, static_, prepare, import_, compile, run, record, replay, judge, time,
                        done)

BOOST_DEFINE_ENUM_CLASS(Fault, kernel, task, infrastructure)

BOOST_DEFINE_ENUM_CLASS(ErrorClass, syntax_error, missing_entry, forbidden, import_error, compile_error,
                        out_of_resources, runtime_error, illegal_memory_access, out_of_bounds, timeout,
                        out_of_memory, process_died, wrong_structure, wrong_shape, wrong_dtype, no_gradient,
                        wrong_value, nonfinite, input_modified, nondeterministic, live_replay_mismatch, race,
                        task_invalid, unsupported_candidate, too_large, infrastructure)

BOOST_DEFINE_ENUM_CLASS(CountsReason, proves_nothing, library_only, decoy, nondeterministic, not_triton,
                        wraps_reference, specialised, precision)

// Why no error is stated in units of the reference's own.
BOOST_DEFINE_ENUM_CLASS(NoErrorRatio, not_compared, exact, float64, random, too_large, no_float64, narrowed,
                        nonfinite)

// The checks of --sanitize: of reads beyond a tensor's end, and the two tools of compute-sanitizer.
BOOST_DEFINE_ENUM_CLASS(Sanitizer, bounds, memcheck, racecheck)

BOOST_DEFINE_ENUM_CLASS(Shapes, given, reduced)

BOOST_DEFINE_ENUM_CLASS(Trust, replay, in_process, interpreter)
template <>
inline constexpr auto other_words<Trust> = std::array{EnumWord{Trust::in_process, "in-process"}};

BOOST_DEFINE_ENUM_CLASS(IsolationLevel, full, partial, process)

}  // namespace kw
