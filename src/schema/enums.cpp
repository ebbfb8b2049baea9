#include "schema/enums.h"

#include <array>
#include <cstddef>

namespace kw {
namespace {

using namespace std::string_view_literals;

// Names in the order of the enumerators.
constexpr std::array statuses{"correct"sv, "incorrect"sv, "failed"sv, "skipped"sv, "error"sv};
constexpr std::array stages{"parse"sv,  "static"sv, "prepare"sv, "import"sv, "compile"sv, "run"sv,
                            "record"sv, "replay"sv, "judge"sv,   "time"sv,   "done"sv};
constexpr std::array faults{"kernel"sv, "task"sv, "infrastructure"sv};
constexpr std::array error_classes{"syntax_error"sv,     "missing_entry"sv,
                                   "forbidden"sv,        "import_error"sv,
                                   "compile_error"sv,    "out_of_resources"sv,
                                   "runtime_error"sv,    "illegal_memory_access"sv,
                                   "out_of_bounds"sv,    "timeout"sv,
                                   "out_of_memory"sv,    "process_died"sv,
                                   "wrong_structure"sv,  "wrong_shape"sv,
                                   "wrong_dtype"sv,      "wrong_value"sv,
                                   "nonfinite"sv,        "input_modified"sv,
                                   "nondeterministic"sv, "live_replay_mismatch"sv,
                                   "task_invalid"sv,     "unsupported_candidate"sv,
                                   "too_large"sv,        "infrastructure"sv};
constexpr std::array counts_reasons{"proves_nothing"sv, "library_only"sv, "decoy"sv, "nondeterministic"sv};
constexpr std::array shapes{"given"sv, "reduced"sv};
constexpr std::array trusts{"replay"sv, "in-process"sv, "interpreter"sv};
constexpr std::array isolation_levels{"full"sv, "partial"sv, "process"sv};

static_assert(statuses.size() == static_cast<std::size_t>(Status::error) + 1);
static_assert(stages.size() == static_cast<std::size_t>(Stage::done) + 1);
static_assert(faults.size() == static_cast<std::size_t>(Fault::infrastructure) + 1);
static_assert(error_classes.size() == static_cast<std::size_t>(ErrorClass::infrastructure) + 1);
static_assert(counts_reasons.size() == static_cast<std::size_t>(CountsReason::nondeterministic) + 1);
static_assert(shapes.size() == static_cast<std::size_t>(Shapes::reduced) + 1);
static_assert(trusts.size() == static_cast<std::size_t>(Trust::interpreter) + 1);
static_assert(isolation_levels.size() == static_cast<std::size_t>(IsolationLevel::process) + 1);

template <typename Enum, std::size_t n>
std::string_view name_of(const std::array<std::string_view, n>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

template <typename Enum, std::size_t n>
std::optional<Enum> value_of(const std::array<std::string_view, n>& names, std::string_view name) {
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return {};
}

}  // namespace

std::string_view to_string(Status value) {
  return name_of(statuses, value);
}
std::string_view to_string(Stage value) {
  return name_of(stages, value);
}
std::string_view to_string(Fault value) {
  return name_of(faults, value);
}
std::string_view to_string(ErrorClass value) {
  return name_of(error_classes, value);
}
std::string_view to_string(CountsReason value) {
  return name_of(counts_reasons, value);
}
std::string_view to_string(Shapes value) {
  return name_of(shapes, value);
}
std::string_view to_string(Trust value) {
  return name_of(trusts, value);
}
std::string_view to_string(IsolationLevel value) {
  return name_of(isolation_levels, value);
}

template <>
std::optional<Status> from_string(std::string_view name) {
  return value_of<Status>(statuses, name);
}
template <>
std::optional<Stage> from_string(std::string_view name) {
  return value_of<Stage>(stages, name);
}
template <>
std::optional<Fault> from_string(std::string_view name) {
  return value_of<Fault>(faults, name);
}
template <>
std::optional<ErrorClass> from_string(std::string_view name) {
  return value_of<ErrorClass>(error_classes, name);
}
template <>
std::optional<CountsReason> from_string(std::string_view name) {
  return value_of<CountsReason>(counts_reasons, name);
}
template <>
std::optional<Shapes> from_string(std::string_view name) {
  return value_of<Shapes>(shapes, name);
}
template <>
std::optional<Trust> from_string(std::string_view name) {
  return value_of<Trust>(trusts, name);
}
template <>
std::optional<IsolationLevel> from_string(std::string_view name) {
  return value_of<IsolationLevel>(isolation_levels, name);
}

}  // namespace kw
