#include "flags/export_flags.h"

#include "flags/parse.h"

namespace kw {
namespace {

Result<std::optional<std::uint64_t>> parse_size(const std::string& text) {
  auto bytes = parse_bytes(text);
  if (!bytes) return std::unexpected(bytes.error());
  return *bytes;
}

void add_choice(CLI::App& app, const std::string& name, std::string& value, std::vector<std::string> words,
                const std::string& help) {
  auto parse = [words = std::move(words)](const std::string& text) { return parse_choice(text, words); };
  add_parsed<std::string>(app, name, value, parse, help)->type_name("WORD")->group("Rows");
}

}  // namespace

void ExportFlags::add(CLI::App& app) {
  app.add_option("RUN", run, "a run folder, its run.db, or exported JSON")->required();
  app.add_option("--output", output, "rows as JSON lines, or Parquet where the name ends so")
      ->required()
      ->type_name("F");
  add_choice(app, "--format", format, {"messages", "prompt-completion", "preference", "traces"},
             "messages, prompt-completion, preference or traces [messages]");
  add_choice(app, "--rows", rows, {"turn", "conversation"}, "one a turn or one a conversation [turn]");
  add_choice(app, "--reasoning", reasoning, {"reasoning_content", "thinking", "inline", "none"},
             "where reasoning goes: reasoning_content, thinking, inline or none [reasoning_content]");
  add_choice(app, "--filter", filter, {"correct", "fast_1", "fast_2", "none"},
             "correct, fast_1, fast_2 (what counts) or none [correct; none for traces]");
  add_choice(app, "--min-trust", min_trust, {"replay", "in-process", "interpreter"},
             "only what was measured so, or better: replay, in-process, interpreter [any]");
  add_choice(app, "--form", form, {"single", "multi"}, "of traces: single or multi [what the run was]");
  app.add_flag("--best-only", best_only, "of each trace, its best turn")->group("Rows");
  app.add_flag("--include-benchmarks", include_benchmarks, "also tasks of KernelBench")->group("Rows");
  add_parsed<std::optional<std::uint64_t>>(app, "--max-bytes", max_bytes, parse_size,
                                           "leave out rows that are longer, like 64K")
      ->type_name("SIZE")
      ->group("Rows");
  app.add_option("--python", python, "Python with pyarrow, for Parquet [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH");
  app.add_flag("--quiet,-q", quiet, "say nothing but errors");
}

}  // namespace kw
