#include "export.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "engine/installation.h"
#include "engine/python.h"
#include "process/helper.h"
#include "session.h"
#include "store/run_reader.h"
#include "store/training_files.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

template <typename Enum>
Enum named(std::string_view word, std::initializer_list<Enum> values) {
  for (Enum value : values)
    if (to_string(value) == word) return value;
  return *values.begin();
}

store::TrainingOptions options_of(const ExportFlags& flags) {
  using store::Filter;
  using store::Format;
  using store::ReasoningKey;
  store::TrainingOptions options;
  options.format =
      named(flags.format, {Format::messages, Format::prompt_completion, Format::preference, Format::traces});
  options.unit = named(flags.rows, {store::Unit::turn, store::Unit::conversation});
  options.reasoning = named(flags.reasoning, {ReasoningKey::reasoning_content, ReasoningKey::thinking,
                                              ReasoningKey::inline_, ReasoningKey::none});
  options.filter = options.format == Format::traces ? Filter::none : Filter::correct;
  if (!flags.filter.empty())
    options.filter = named(flags.filter, {Filter::none, Filter::correct, Filter::fast_1, Filter::fast_2});
  options.min_trust = from_string<Trust>(flags.min_trust);
  options.best_only = flags.best_only;
  options.include_benchmarks = flags.include_benchmarks;
  options.max_bytes = flags.max_bytes;
  return options;
}

// Flags that would be passed over in silence are refused instead.
Result<> check(const ExportFlags& flags, const store::TrainingOptions& options) {
  using store::Format;
  bool chosen = options.format == Format::traces || options.format == Format::preference;
  if (chosen && !flags.rows.empty())
    return fail(fmt::format("--rows does not go with --format {}", flags.format),
                "leave it out, or choose messages or prompt-completion");
  if (options.format != Format::traces && !flags.form.empty())
    return fail("--form is for --format traces", "leave it out");
  if (options.format == Format::preference && options.filter == store::Filter::none)
    return fail("preference pairs need an answer that is correct", "leave --filter out, or give fast_1");
  std::string ending = fs::path(flags.output).extension().string();
  if (ending != ".jsonl" && ending != ".parquet" && ending != ".json")
    return fail(fmt::format("--output {}: the ending is none of .jsonl, .parquet, .json", flags.output));
  if (ending == ".parquet" && options.format == Format::traces)
    return fail("traces are written as JSON, not as Parquet", "end --output with .json or .jsonl");
  return {};
}

// Whether any trace has more than one turn: then that is the form in which they are written.
Result<store::Form> form_of(const ExportFlags& flags) {
  if (!flags.form.empty()) return flags.form == "single" ? store::Form::single_turn : store::Form::multi_turn;
  auto reader = store::open_run(flags.run);
  if (!reader) return std::unexpected(reader.error());
  while (true) {
    auto trace = (*reader)->next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return store::Form::single_turn;
    if ((*trace)->rounds.size() > 1) return store::Form::multi_turn;
    for (const Conversation& round : (*trace)->rounds)
      if (round.turns.size() > 1) return store::Form::multi_turn;
  }
}

Result<> to_parquet(const fs::path& rows, const fs::path& output, const std::string& chosen_python) {
  auto installation = engine::find_installation();
  if (!installation) return std::unexpected(installation.error());
  auto python = engine::find_python(chosen_python, *installation);
  if (!python) return std::unexpected(python.error());
  fs::path script;
  for (const fs::path& folder : installation->python_path)
    if (fs::exists(folder / "kernelwright/parquet_write.py"))
      script = folder / "kernelwright/parquet_write.py";
  auto child =
      process::start_helper({python->path.string(), script.string(), rows.string(), output.string()});
  if (!child) return std::unexpected(child.error());
  return child->first.finish();
}

// Rows as JSON lines beside the output, which go again when it is made of them.
Result<store::Tally> write_parquet(store::TraceReader& reader, const ExportFlags& flags,
                                   const store::TrainingOptions& options) {
  fs::path rows = flags.output + fmt::format(".{}.jsonl", ::getpid());
  auto tally = store::write_training(reader, rows, options);
  if (!tally || tally->rows == 0) return tally;
  auto written = to_parquet(rows, flags.output, flags.python);
  std::error_code ignored;
  fs::remove(rows, ignored);
  if (!written) return std::unexpected(written.error());
  return tally;
}

Result<store::Tally> write_rows(const ExportFlags& flags, store::TrainingOptions& options) {
  if (options.format == store::Format::traces) {
    auto form = form_of(flags);
    if (!form) return std::unexpected(form.error());
    options.form = *form;
  }
  auto reader = store::open_run(flags.run);
  if (!reader) return std::unexpected(reader.error());
  if (fs::path(flags.output).extension() == ".parquet") return write_parquet(**reader, flags, options);
  return store::write_training(**reader, flags.output, options);
}

std::unexpected<Error> nothing_left(const ExportFlags& flags, const store::Tally& tally) {
  if (tally.traces == 0)
    return fail(fmt::format("{} has no trace that has ended", flags.run), "let the run go on, then export");
  std::string remedy = "a milder --filter keeps more";
  if (tally.left_out.contains(store::not_known_to_count))
    remedy =
        "`kernelwright run --traces F --model-replay F` judges recorded answers; --filter none takes all";
  else if (tally.benchmarks > 0)
    remedy = "--include-benchmarks takes tasks of KernelBench along";
  return fail(fmt::format("nothing is left to write to {}: of {} traces, left out: {}", flags.output,
                          tally.traces, store::left_out_in_words(tally)),
              remedy);
}

Result<> write_all(const ExportFlags& flags, store::TrainingOptions options) {
  auto tally = write_rows(flags, options);
  if (!tally) return std::unexpected(tally.error());
  if (tally->rows == 0) return nothing_left(flags, *tally);
  fs::path output(flags.output);
  fs::path card = output.string() + ".card.md";
  if (auto written =
          write_file(card, store::dataset_card(output.filename().string(), options, *tally, kw_version));
      !written)
    return written;
  if (tally->benchmarks > 0)
    fmt::print(stderr, "note: {} traces are of KernelBench and were left out (--include-benchmarks)\n",
               tally->benchmarks);
  if (flags.quiet) return {};
  fmt::print("{} rows from {} traces: {}, {}\n", tally->rows, tally->traces, output.string(), card.string());
  if (std::string why = store::left_out_in_words(*tally); !why.empty()) fmt::print("left out: {}\n", why);
  return {};
}

}  // namespace

int export_run(const ExportFlags& flags) {
  store::TrainingOptions options = options_of(flags);
  if (auto good = check(flags, options); !good) {
    complain(good.error());
    return exit_usage;
  }
  if (auto written = write_all(flags, options); !written) {
    complain(written.error());
    return exit_failure;
  }
  return 0;
}

}  // namespace kw::app
