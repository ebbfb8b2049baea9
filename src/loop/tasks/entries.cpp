#include "loop/tasks/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <cctype>
#include <optional>
#include <vector>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "code/syntax/outline.h"
#include "code/syntax/static_findings.h"

namespace kw {
namespace {

using Definitions = std::vector<Definition>;

struct SourceNames {
  explicit SourceNames(const std::string& code)
      : report(examine(code)),
        all(outline(code)),
        callable(callables(all)),
        possible(possible_functions(code)) {}
  StaticReport report;
  Definitions all;
  Definitions callable;
  std::vector<std::string> possible;  // values at the top level that may be functions
};

// A source that may define names that its text does not show is left to Python.
bool is_certain(const StaticReport& report) {
  return !report.open && !report.has_error;
}

bool has_shapes(const Task& task) {
  return !trim(task.input_shapes).empty();
}

// The entry that the oracle takes when none is named; empty: none.
std::string recognised_entry(const Task& task, const SourceNames& names) {
  const StaticReport& report = names.report;
  const Definitions& found = names.all;
  if (!has_shapes(task)) {
    if (report.names.contains("Model")) return "Model";
    auto last = std::find_if(found.rbegin(), found.rend(),
                             [](const Definition& each) { return each.kind == Definition::Kind::module; });
    if (last != found.rend()) return last->name;
  }
  return report.names.contains("reference_impl") ? "reference_impl" : "";
}

std::string only_name(const Definitions& found) {
  return found.size() == 1 ? found.front().name : "";
}

// Whether the text calls `name`, as it calls a helper.
bool calls(std::string_view code, const std::string& name) {
  const std::string call = name + "(";
  for (std::size_t at = code.find(call); at != std::string_view::npos; at = code.find(call, at + 1)) {
    std::string_view before = code.substr(0, at);
    if (before.ends_with("def ")) continue;
    if (before.empty() || !(std::isalnum(static_cast<unsigned char>(before.back())) != 0 ||
                            before.back() == '_' || before.back() == '.'))
      return true;
  }
  return false;
}

// "kernel.py defines `softmax`, `softmax_kernel` (a Triton kernel)"
std::unexpected<Error> ambiguous(const std::string& file, const SourceNames& names, const char* flag,
                                 const std::string& why) {
  std::string choices;
  for (const Definition& each : names.callable)
    choices += fmt::format("{}`{} {}`", choices.empty() ? "" : " or ", flag, each.name);
  return fail(fmt::format("{} defines {}; {}", file, names_in_words(names.all), why), "add " + choices);
}

// A name that was given must be one that can be called.
Result<> check_given(const std::string& given, const std::string& file, const SourceNames& names,
                     const char* flag) {
  if (given.empty()) return {};
  if (const Definition* found = find_definition(names.all, given)) {
    if (found->kind != Definition::Kind::kernel) return {};
    return fail(
        fmt::format("{}: `{}` of {} is a Triton kernel, and no entry that can be called", flag, given, file),
        "name the function that launches it: the file defines " + names_in_words(names.all));
  }
  if (may_define(names.report, given)) return {};
  return fail(fmt::format("{}: {} defines no `{}`", flag, file, given),
              fmt::format("it defines {}", names_in_words(names.all)));
}

// The name of the reference's entry: given, recognised, or its only public one; empty: unknown.
std::string entry_of(const Task& task, const SourceNames& names) {
  if (!task.entry_point.empty()) return task.entry_point;
  if (std::string known = recognised_entry(task, names); !known.empty()) return known;
  // With shapes the oracle recognises reference_impl alone.
  if (has_shapes(task) && find_definition(names.callable, "Model")) return "Model";
  if (!is_certain(names.report) || !names.possible.empty()) return {};
  return only_name(names.callable);
}

// Sets the entry only where the oracle would not take it anyway, so that the task keeps its identity.
void set_reference_entry(Task& task, const SourceNames& names, const std::string& entry) {
  if (task.entry_point.empty() && recognised_entry(task, names).empty()) task.entry_point = entry;
}

// The name of the kernel's entry where the runner would find none; empty: unknown.
std::string kernel_entry_of(const SourceNames& names, const std::string& reference_entry) {
  const Definition* same = find_definition(names.all, reference_entry);
  if (same ? same->kind != Definition::Kind::kernel : std::ranges::count(names.possible, reference_entry) > 0)
    return reference_entry;
  return !names.possible.empty() ? "" : only_name(names.callable);
}

// Refuses a reference with Triton kernels for a kernel that certainly has none.
Result<> check_order(const Job& job, const PairNames& names, const StaticReport& reference,
                     const StaticReport& kernel) {
  if (!job.task.entry_point.empty() && !job.candidate.entry.empty()) return {};
  // A kernel without a decorator may still be compiled by a call of triton.jit.
  bool may_launch = !kernel.jitted.empty() || kernel.native_code || !is_certain(kernel) ||
                    job.candidate.code.contains("import triton") ||
                    job.candidate.code.contains("from triton") ||
                    job.candidate.code.contains("cpp_extension");
  if (reference.jitted.empty() || may_launch) return {};
  return fail(fmt::format("the reference, {}, contains the Triton kernel `{}`, and the kernel, {}, contains "
                          "none",
                          names.reference, reference.jitted.front(), names.kernel),
              "the order is REFERENCE KERNEL: swap the two, or name both entries with --entry-point and "
              "--kernel-entry to judge them as they are");
}

class Finder {
 public:
  Finder(Job& job, const PairNames& names)
      : job_(job), names_(names), reference_(job.task.reference_code), kernel_(job.candidate.code) {}

  Result<> run() {
    if (auto good = check_given(job_.task.entry_point, names_.reference, reference_, "--entry-point"); !good)
      return good;
    if (auto good = check_given(job_.candidate.entry, names_.kernel, kernel_, "--kernel-entry"); !good)
      return good;
    if (names_.by_hand)
      if (auto good = check_order(job_, names_, reference_.report, kernel_.report); !good) return good;
    std::string entry = entry_of(job_.task, reference_);
    if (entry.empty() && names_.by_hand && is_certain(reference_.report) && !reference_.callable.empty()) {
      entry = entry_by_kernel();
      if (entry.empty())
        return ambiguous(names_.reference, reference_, "--entry-point", "which of them is the reference?");
    }
    set_reference_entry(job_.task, reference_, entry);
    return find_kernel_entry(entry);
  }

 private:
  // The reference's function with the name of the kernel's entry; a function that the reference itself calls
  // may be a helper, and a kernel must not choose the easier part.
  std::string entry_by_kernel() const {
    if (names_.is_completion || !is_certain(kernel_.report)) return {};
    std::string kernel = job_.candidate.entry.empty() ? only_name(kernel_.callable) : job_.candidate.entry;
    if (!find_definition(reference_.callable, kernel)) return {};
    return calls(job_.task.reference_code, kernel) ? "" : kernel;
  }

  Result<> find_kernel_entry(const std::string& reference_entry) {
    std::string& entry = job_.candidate.entry;
    if (!entry.empty() || names_.is_completion) return {};
    // Also true for a source whose names are uncertain.
    if (may_have_entry(kernel_.report)) {
      StaticReport shown = kernel_.report;
      shown.open = shown.has_error = false;
      if (!may_have_entry(shown) && find_definition(kernel_.callable, reference_entry))
        entry = reference_entry;
      return {};
    }
    entry = kernel_entry_of(kernel_, reference_entry);
    if (!entry.empty() || kernel_.callable.empty() || !names_.by_hand) return {};
    return ambiguous(names_.kernel, kernel_, "--kernel-entry",
                     reference_entry.empty()
                         ? "which of them is the entry?"
                         : fmt::format("none of them is called `{}`, as the reference is", reference_entry));
  }

  Job& job_;
  const PairNames& names_;
  SourceNames reference_;
  SourceNames kernel_;
};

// The parameter to which a name without a parameter was probably meant to belong.
std::string meant(const std::string& name, const Definition& reference, const boost::json::object& shapes) {
  std::vector<std::string> open;
  for (const Parameter& each : reference.parameters)
    if (each.by_position && !shapes.contains(each.name)) open.push_back(each.name);
  return nearest(name, open);
}

Result<> check_unknown(const Definition& reference, const boost::json::object& shapes,
                       const std::string& where) {
  for (const auto& shape : shapes) {
    std::string name(shape.key());
    if (std::ranges::find(reference.parameters, name, &Parameter::name) != reference.parameters.end())
      continue;
    std::string near = meant(name, reference, shapes);
    return fail(fmt::format("{}: `{}` is not a parameter of `{}`", where, name, reference.signature()),
                near.empty() ? "name its parameters" : fmt::format("did you mean `{}`?", near));
  }
  return {};
}

// Inputs are passed by position, so that a parameter before the last one with a shape needs one too.
Result<> check_missing(const Definition& reference, const boost::json::object& shapes,
                       const std::string& where) {
  std::size_t given = 0;
  for (std::size_t at = 0; at < reference.parameters.size(); ++at)
    if (shapes.contains(reference.parameters[at].name)) given = at + 1;
  for (std::size_t at = 0; at < reference.parameters.size(); ++at) {
    const Parameter& each = reference.parameters[at];
    if (!each.by_position || shapes.contains(each.name) || (!each.is_required && at >= given)) continue;
    return fail(
        fmt::format("{}: there is no shape for `{}` of `{}`", where, each.name, reference.signature()),
        fmt::format(R"(add "{}": {{"shape": [...], "dtype": "float32"}})", each.name));
  }
  return {};
}

}  // namespace

Result<> find_entries(Job& job, const PairNames& names) {
  return Finder(job, names).run();
}

void find_reference_entry(Task& task) {
  SourceNames names(task.reference_code);
  set_reference_entry(task, names, entry_of(task, names));
}

Result<> check_shape_names(const Task& task, const std::string& where) {
  if (!has_shapes(task)) return {};
  SourceNames names(task.reference_code);
  const Definition* reference = find_definition(names.callable, entry_of(task, names));
  auto given = parse_json(task.input_shapes);
  if (!reference || !reference->knows_parameters || !given || !given->is_object()) return {};
  if (auto good = check_unknown(*reference, given->get_object(), where); !good) return good;
  return check_missing(*reference, given->get_object(), where);
}

}  // namespace kw
