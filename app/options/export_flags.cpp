#include "options/export_flags.h"

#include <fmt/format.h>

#include "options/parse.h"

namespace kw {
namespace {

Result<std::optional<std::uint64_t>> parse_size(const std::string& text) {
  auto bytes = parse_bytes(text);
  if (!bytes) return std::unexpected(bytes.error());
  return *bytes;
}

// true: speeds that were not measured are 0.0.
Result<bool> parse_unmeasured(const std::string& text) {
  if (text != "null" && text != "0") return fail(fmt::format("\"{}\" is neither null nor 0", text));
  return text == "0";
}

template <typename Enum, typename Target>
void add_choice(CLI::App& app, const std::string& name, Target& value, const std::string& help) {
  add_word<Enum>(app, name, value, help)->type_name("WORD")->group("Rows");
}

}  // namespace

std::optional<store::Format> row_format(ExportFormat format) {
  return from_string<store::Format>(to_string(format));
}

void ExportFlags::add(CLI::App& app) {
  app.add_option(
         "SOURCE", run,
         "run folder, its run.db, or exported JSON; for harbor also tasks, as `run` and `serve --tasks` "
         "take them")
      ->required();
  app.add_option("--output,-o", output,
                 "output: F.jsonl, F.json (one list) or F.parquet; F.eval for inspect; a new folder for "
                 "kernelbench and "
                 "harbor")
      ->required()
      ->type_name("F");
  add_choice<ExportFormat>(
      app, "--format", format,
      "rows: messages, prompt-completion, preference or traces; files of other programs: "
      "inspect (a log for inspect view), atif (Harbor's trajectories), kernelbench (a run "
      "folder), harbor (tasks for Harbor) [messages]");
  add_choice<store::Unit>(app, "--rows", rows, "one row per turn or per conversation [turn]");
  add_choice<store::ReasoningKey>(
      app, "--reasoning", reasoning,
      "place of the reasoning: reasoning_content, thinking, inline or none [reasoning_content]");
  add_choice<store::Filter>(
      app, "--filter", filter,
      "verdicts to export: correct, fast_1, fast_2 or none (no filter) [correct; none for traces]");
  add_choice<Trust>(app, "--min-trust", min_trust,
                    "only verdicts with at least this trust: replay, in-process, interpreter [any]");
  add_choice<store::Form>(app, "--form", form, "form of traces: single or multi [the run's form]");
  add_parsed<bool>(app, "--unmeasured-speed", unmeasured_is_zero, parse_unmeasured,
                   "write speeds that were not measured as null or as 0.0 [null]")
      ->type_name("null|0")
      ->group("Rows");
  app.add_flag("--best-only", best_only, "export only the best turn of each trace")->group("Rows");
  app.add_flag("--include-benchmarks", include_benchmarks, "also export tasks of KernelBench")->group("Rows");
  add_parsed<std::optional<std::uint64_t>>(app, "--max-bytes", max_bytes, parse_size,
                                           "leave out rows over this size, like 64K")
      ->type_name("SIZE")
      ->group("Rows");
  review.add(app);
  harbor.add(app);
  app.add_option("--python", python,
                 "Python with pyarrow for Parquet, and huggingface_hub for tasks of the hub [VIRTUAL_ENV, "
                 ".venv, PATH]")
      ->type_name("PATH");
  app.add_flag("--quiet,-q", quiet, "print errors only");
}

}  // namespace kw
