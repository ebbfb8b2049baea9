#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "refine/feedback_parts.h"
#include "refine/prompt.h"
#include "syntax/static_findings.h"

namespace kw::refine {
namespace {

constexpr std::size_t longest_error = 450;
constexpr std::size_t longest_compiler_text = 500;
constexpr std::size_t longest_finding = 220;
constexpr std::size_t most_findings = 3;

// What happened, and what usually helps; either may be empty.
struct Words {
  std::string_view headline;
  std::string_view advice;
};

Words words_for(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::syntax_error:
      return {"The module is not valid Python.", ""};
    case ErrorClass::missing_entry:
      return {"There was nothing to call.", ""};
    case ErrorClass::forbidden:
      return {"The module was refused, and not run.", "Leave this out: a kernel does not need it."};
    case ErrorClass::import_error:
      return {"The module could not be imported.",
              "PyTorch, Triton and the standard library are there, little else."};
    case ErrorClass::compile_error:
      return {"A kernel does not compile.", ""};
    case ErrorClass::out_of_resources:
      return {"A kernel needs more of the device than there is.",
              "Smaller blocks, fewer stages (num_stages) or another number of warps need less."};
    case ErrorClass::runtime_error:
      return {"The call raised an error.", ""};
    case ErrorClass::illegal_memory_access:
      return {"A kernel touched memory that does not belong to it.",
              "Check the masks of all loads and stores, the strides, and the sizes handed to the launch."};
    case ErrorClass::out_of_bounds:
      return {"A kernel reads or writes outside of its tensors.",
              "Mask this access, or correct the offsets: no lane may pass the end, used or not."};
    case ErrorClass::timeout:
      return {"It did not end in time.",
              "Look for a loop that never ends, a wait for another program, or work that grows with the "
              "square of "
              "a size."};
    case ErrorClass::out_of_memory:
      return {"It ran out of memory.", "Compute in blocks instead of building large intermediate tensors."};
    case ErrorClass::process_died:
      return {"The process in which it ran ended before there was a result.", ""};
    case ErrorClass::wrong_structure:
    case ErrorClass::wrong_shape:
    case ErrorClass::wrong_dtype:
      return {"It runs, but what it returns has not the form of the reference's result.", ""};
    case ErrorClass::wrong_value:
      return {"It runs, but the values are wrong.", ""};
    case ErrorClass::nonfinite:
      return {
          "It runs, but NaN or infinity stand where they do not belong, or are missing.",
          "Look at masked lanes (other=), divisions by zero, and exponents without the maximum subtracted."};
    case ErrorClass::input_modified:
      return {"It changed one of its inputs, which the reference leaves alone.", "Write into a new tensor."};
    case ErrorClass::unsupported_candidate:
      return {"It could not be tried on this machine, which says nothing about it.", ""};
    case ErrorClass::too_large:
      return {"It was too large to be tried in full.", ""};
    default:
      return {"It did not work.", ""};
  }
}

// What the error itself does not say already. First mismatch apart, the worst of all trials.
std::string numbers_of(const Verdict& verdict) {
  if (verdict.status != Status::incorrect || !verdict.comparison) return {};
  const Comparison& seen = *verdict.comparison;
  auto said = [&](const char* words) {
    return verdict.error && verdict.error->find(words) != std::string::npos;
  };
  std::string text;
  if (seen.first_mismatch && !said("first at")) {
    const FirstMismatch& first = *seen.first_mismatch;
    text += fmt::format("First at {}[{}]: expected {:.6g}, got {:.6g}\n", first.output,
                        fmt::join(first.index, ", "), first.expected, first.actual);
  }
  std::vector<std::string> worst;
  if (seen.mismatched_share.value_or(0) > 0 && !said("%"))
    worst.push_back(fmt::format("{:.3g}% of all values are wrong", 100 * *seen.mismatched_share));
  if (seen.max_abs_error && !said("largest error"))
    worst.push_back(fmt::format("largest absolute error {:.3g}", *seen.max_abs_error));
  if (seen.max_rel_error) worst.push_back(fmt::format("largest relative error {:.3g}", *seen.max_rel_error));
  if (!worst.empty()) text += fmt::format("Over all trials: {}\n", fmt::join(worst, ", "));
  return cleaned(text);
}

std::string findings_of(const Verdict& verdict) {
  if (!verdict.comparison) return {};
  std::string text;
  const auto& findings = verdict.comparison->findings;
  for (std::size_t i = 0; i < std::min(findings.size(), most_findings); ++i)
    text += fmt::format("Note: {}\n", shorten(cleaned(findings[i]), longest_finding));
  return text;
}

// What the syntax tree suggests, where that may explain what went wrong.
std::string hints_of(const Verdict& verdict, std::string_view code) {
  if (code.empty() || verdict.error_class == ErrorClass::forbidden) return {};
  StaticReport report = examine(code);
  std::string text;
  if (report.has_error && report.error_line != 0 && !verdict.error_detail)
    text += fmt::format("Note: the first thing that does not parse is near line {}\n{}", report.error_line,
                        excerpt(code, report.error_line));
  for (std::size_t i = 0; i < std::min<std::size_t>(report.findings.size(), 2); ++i) {
    const StaticFinding& finding = report.findings[i];
    text += finding.line == 0 ? fmt::format("Note: {}\n", shorten(cleaned(finding.what), longest_finding))
                              : fmt::format("Note: line {}: {}\n", finding.line,
                                            shorten(cleaned(finding.what), longest_finding));
  }
  return text;
}

std::string expected_form(const FeedbackContext& context) {
  return fmt::format(
      "Expected is one Python module with `{}` in it and everything that it needs, kernels marked "
      "@triton.jit.\n",
      entry_name(context.style));
}

std::string place_of(const Verdict& verdict, std::string_view code) {
  if (!verdict.error_detail) return {};
  std::string text;
  const ErrorDetail& detail = *verdict.error_detail;
  if (detail.compiler_text && !trim(*detail.compiler_text).empty())
    text += "The compiler says:\n" + tail_of(cleaned(*detail.compiler_text), longest_compiler_text) + "\n";
  std::string lines =
      excerpt(code, detail.line && *detail.line > 0 ? static_cast<std::size_t>(*detail.line) : 0);
  if (!lines.empty()) text += "In your module:\n" + lines;
  return text;
}

}  // namespace

std::string failure_part(const Verdict& verdict, std::string_view code, const FeedbackContext& context) {
  Words words = words_for(verdict.error_class.value_or(ErrorClass::infrastructure));
  std::string text = fmt::format("{}\n", words.headline);
  std::string error = cleaned(verdict.error.value_or(""));
  bool listed = verdict.error_detail && verdict.error_detail->compiler_text &&
                verdict.error_detail->compiler_text->find(trim(*verdict.error)) != std::string::npos;
  if (!error.empty() && !listed) text += shorten(error, longest_error) + "\n";
  text += place_of(verdict, code);
  text += numbers_of(verdict);
  text += findings_of(verdict);
  if (verdict.error_class == ErrorClass::missing_entry) text += expected_form(context);
  text += hints_of(verdict, code);
  if (!words.advice.empty()) text += fmt::format("{}\n", words.advice);
  return text;
}

}  // namespace kw::refine
