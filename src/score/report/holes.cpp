#include "score/report/holes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/core/json.h"
#include "code/answers/extraction.h"
#include "dataset/extract/harvest.h"
#include "dataset/pairs/pairs.h"
#include "score/checks/idioms.h"
#include "score/report/static_checks.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

using corpus::Unit;

// The special tokens of the coder models for which the rows are written, and those that end a text.
constexpr std::string_view marks[] = {"<|endoftext|>",  "<|fim_pad|>",    "<|file_sep|>",
                                      "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
                                      "<|repo_name|>",  "<|im_end|>",     "<|im_start|>"};
constexpr std::string_view hole_mark = "<HOLE>";

// The path of the row's source: nested in JSON lines, a column of its own in Parquet.
std::string path_of(const json::object& row) {
  const json::value* source = row.if_contains("source");
  if (const json::object* place = source ? source->if_object() : nullptr)
    return string_at(*place, "path").value_or("");
  return text_at(row, "source_path").value_or("");
}

// How the row's hole is written: nested in JSON lines, a column of its own in Parquet.
std::string rendering_of(const json::object& row) {
  const json::value* hole = row.if_contains("hole");
  if (const json::object* facts = hole ? hole->if_object() : nullptr)
    return string_at(*facts, "rendering").value_or("");
  return text_at(row, "hole_rendering").value_or("");
}

std::string filled(const Hole& hole, std::string_view middle) {
  return fmt::format("{}{}{}", hole.prefix, middle, hole.suffix);
}

// The source with its hole filled.
struct Filled {
  std::string source;
  bool parses = false;
  std::vector<Unit> kernels;  // around the hole, the innermost last
};

Filled fill(const Output& output, std::string_view middle) {
  Filled made{filled(*output.hole, middle), false, {}};
  corpus::SourceFile file;
  file.origin.name = output.record.target;
  file.path = "answer.py";
  file.bytes = made.source;
  auto parsed = harvest::parse(std::move(file), harvest::Language::python, {});
  if (!parsed.file) return made;
  made.parses = !parsed.has_error;
  made.kernels = harvest::link({parsed.file});
  std::size_t begin = output.hole->prefix.size();
  std::erase_if(made.kernels, [&](const Unit& unit) {
    const corpus::Span& span = unit.source.span;
    // White space at the end of an answer belongs to no function.
    return unit.kind != corpus::UnitKind::triton || span.begin > begin || span.end <= begin;
  });
  return made;
}

// A row whose own reference shows no kernel around the hole, such as a part without its decorator, measures
// nothing.
bool applies(const Output& output) {
  if (output.hole->is_cuda) return false;
  if (!output.has_reference) return true;
  const auto filled = fill(output, output.reference);
  return filled.parses && !filled.kernels.empty();
}

std::size_t line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, at), '\n'));
}

// The last kernel that begins before the hole.
const score::JitKernel* kernel_around(const score::Idioms& idioms, const Hole& hole) {
  const score::JitKernel* found = nullptr;
  std::size_t line = line_of(hole.prefix, hole.prefix.size());
  for (const score::JitKernel& kernel : idioms.kernels)
    if (kernel.line <= line) found = &kernel;
  return found;
}

StaticFacts facts_around(const score::Idioms& idioms, const Hole& hole) {
  StaticFacts facts;
  facts.parses = idioms.parses;
  facts.is_launched = idioms.is_launched;
  facts.forbidden = idioms.forbidden.size();
  facts.torch_work = idioms.torch_work.size();
  facts.native_code = idioms.native_code;
  const score::JitKernel* kernel = kernel_around(idioms, hole);
  if (kernel == nullptr) return facts;
  facts.has_jit = true;
  facts.loads = kernel->loads > 0;
  facts.masked_loads = kernel->masked_loads > 0;
  facts.stores = kernel->stores > 0;
  facts.masked_stores = kernel->stores > 0 && kernel->masked_stores == kernel->stores;
  facts.boundary_checks = kernel->labels.masked_loads || kernel->labels.boundary_check;
  facts.constexpr_blocks = kernel->constexpr_parameters > 0;
  return facts;
}

// The facts of a filled hole, with the accesses of its kernel that nothing proves to be in bounds.
struct Examined {
  StaticFacts facts;
  std::vector<StaticFinding> forbidden;
  std::vector<StaticFinding> doubts;
  std::size_t error_line = 0;
};

Examined examine_filled(const Filled& made, const Hole& hole) {
  score::IdiomOptions part;
  part.is_whole_answer = false;
  score::Idioms idioms = score::find_idioms(made.source, part);
  Examined examined{facts_around(idioms, hole), idioms.forbidden, {}, idioms.error_line};
  examined.facts.has_jit = examined.facts.has_jit && !made.kernels.empty();
  if (const score::JitKernel* kernel = kernel_around(idioms, hole)) examined.doubts = kernel->doubts;
  return examined;
}

// The names that kernels around the answer use, that those around the reference do not, and that nothing
// defines. Without a reference there is none: a name of a left-out import resembles an invented one.
std::vector<std::string> undefined_names(const Output& output, const Filled& answered) {
  if (!output.has_reference) return {};
  std::set<std::string> names;
  for (const Unit& unit : answered.kernels) names.insert(unit.missing.begin(), unit.missing.end());
  for (const Unit& unit : fill(output, output.reference).kernels)
    for (const std::string& name : unit.missing) names.erase(name);
  return {names.begin(), names.end()};
}

// The checks of a filled hole. It has to have what the source has with its reference, and may leave open what
// that leaves open.
std::vector<score::CheckResult> checks_of(const Examined& answer, const std::optional<Examined>& wanted,
                                          const std::vector<std::string>& names) {
  using score::Check;
  using score::CheckState;
  std::vector<score::CheckResult> checks;
  auto add = [&](Check check, CheckState state, bool holds, std::vector<StaticFinding> why) {
    if (holds) why.clear();
    checks.push_back({check, holds ? CheckState::pass : state, std::move(why)});
  };
  const StaticFacts& facts = answer.facts;
  add(Check::parses, CheckState::fail, facts.parses,
      {{"the source with its hole filled does not parse", answer.error_line}});
  if (!facts.parses) return checks;
  add(Check::allowed, CheckState::fail, facts.forbidden <= (wanted ? wanted->facts.forbidden : 0),
      answer.forbidden);
  add(Check::has_kernel, CheckState::fail, facts.has_jit >= (!wanted || wanted->facts.has_jit),
      {{"the answer breaks the kernel around its hole", 0}});
  add(Check::stores, CheckState::fail, !wanted || facts.stores >= wanted->facts.stores,
      {{"the kernel around the hole stores nothing", 0}});
  add(Check::loads, CheckState::fail, !wanted || facts.loads >= wanted->facts.loads,
      {{"the kernel around the hole loads nothing", 0}});
  add(Check::in_bounds, CheckState::unproven, answer.doubts.size() <= (wanted ? wanted->doubts.size() : 0),
      answer.doubts);
  add(Check::defined, CheckState::fail, names.empty(),
      {{fmt::format("nothing defines {}", fmt::join(names, ", ")), 0}});
  return checks;
}

// Whether the prompt ends with the signature of a Triton kernel, as that of a "body" row does.
bool ends_with_signature(std::string_view prompt) {
  if (!trim(prompt).ends_with(':')) return false;
  const std::size_t jit = prompt.rfind("@triton.jit");
  if (jit == std::string_view::npos) return false;
  const std::size_t definition = prompt.find("\ndef ", jit);
  return definition != std::string_view::npos && !prompt.substr(definition + 1).contains("\ndef ");
}

// A row of X_sft.csv has no kind.
bool is_body_row(const json::object& row, std::string_view prompt) {
  if (!row.contains("kind")) return ends_with_signature(prompt);
  return text_at(row, "kind") == "fim" && rendering_of(row) != "instruction";
}

}  // namespace

std::optional<Hole> hole_of(const json::object& row, std::string_view prompt) {
  Hole hole;
  if (auto parts = pairs::parse_fim_prompt(prompt)) {
    hole.prefix = parts->prefix;
    hole.suffix = parts->suffix;
  } else if (is_body_row(row, prompt)) {
    hole.prefix = prompt;
    hole.is_plain = true;
  } else {
    return {};
  }
  hole.is_cuda = harvest::language_of(path_of(row)) == harvest::Language::cuda ||
                 hole.prefix.contains("__global__") || hole.prefix.contains("__device__");
  return hole;
}

llm::Continuation continuation_of(const Hole& hole, std::string prompt) {
  // Without a suffix, a model that was not trained to end continues with the next definition.
  if (hole.is_plain) return {std::move(prompt), {"<|endoftext|>", "\n@", "\ndef ", "\nclass "}};
  return {std::move(prompt), {"<|endoftext|>", "<|fim_pad|>", "<|file_sep|>", "<|fim_prefix|>"}};
}

std::string chat_prompt_of(const Hole& hole) {
  std::string_view language = hole.is_cuda ? "cuda" : "python";
  return fmt::format(
      "A part of this source is missing where {0} stands. Answer with the missing part alone, in one code "
      "block, with its indentation. Do not repeat the source around it.\n\n```{1}\n{2}{0}{3}\n```\n",
      hole_mark, language, hole.prefix, hole.suffix);
}

std::string hole_text(std::string_view answer, std::string_view reference) {
  std::string_view text = answer;
  if (!reference.contains("```"))
    for (const Fence& fence : find_fences(answer))
      if (fence.closed) {
        text = fence.body;
        if (text.ends_with('\n')) text.remove_suffix(1);
      }
  for (std::string_view mark : marks) text = text.substr(0, text.find(mark));
  return std::string(text);
}

std::optional<StaticFacts> check_hole(const Output& output) {
  if (!applies(output)) return {};
  Filled answered = fill(output, output.code);
  Examined answer = examine_filled(answered, *output.hole);
  auto names = undefined_names(output, answered);
  answer.facts.undefined_names = names.size();
  std::optional<Examined> wanted;
  if (output.has_reference) wanted = examine_filled(fill(output, output.reference), *output.hole);
  set_checks(checks_of(answer, wanted, names), answer.facts);
  answer.facts.is_good = answer.facts.state != score::CheckState::fail;
  return answer.facts;
}

std::optional<FilledKernels> kernels_with_hole(const Output& output) {
  if (!applies(output)) return {};
  Filled answered = fill(output, output.code);
  if (!answered.parses || answered.kernels.empty())
    return FilledKernels{{}, "the answer breaks the source around its hole"};
  if (auto names = undefined_names(output, answered); !names.empty())
    return FilledKernels{{}, fmt::format("nothing defines {}", fmt::join(names, ", "))};
  return FilledKernels{std::move(answered.kernels), ""};
}

}  // namespace kw::scoring
