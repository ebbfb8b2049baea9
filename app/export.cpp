#include "export.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "base/core/counted.h"
#include "base/core/files.h"
#include "base/process/child.h"
#include "base/rows/formats.h"
#include "loop/run_store/run_reader.h"
#include "loop/run_store/trace_files.h"
#include "loop/run_store/training_files.h"
#include "output/output_file.h"
#include "session.h"
#include "verify/workers/installation.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

store::TrainingOptions options_of(const ExportFlags& flags) {
  store::TrainingOptions options;
  options.format = row_format(flags.format).value_or(store::Format::messages);
  options.unit = flags.rows.value_or(store::Unit::turn);
  options.reasoning = flags.reasoning.value_or(store::ReasoningKey::reasoning_content);
  options.filter = flags.filter.value_or(options.format == store::Format::traces ? store::Filter::none
                                                                                 : store::Filter::correct);
  options.min_trust = flags.min_trust;
  options.unmeasured_is_zero = flags.unmeasured_is_zero;
  options.best_only = flags.best_only;
  options.include_benchmarks = flags.include_benchmarks;
  options.max_bytes = flags.max_bytes;
  options.leave_out = flags.review.leave_out;
  return options;
}

// Refuses flags that would have no effect.
Result<> check_export_flags(const ExportFlags& flags, const store::TrainingOptions& options) {
  using store::Format;
  bool chosen = options.format == Format::traces || options.format == Format::preference;
  if (chosen && flags.rows)
    return fail(fmt::format("--rows excludes --format {}", to_string(flags.format)),
                "leave it out, or choose messages or prompt-completion");
  if (options.format != Format::traces && flags.form)
    return fail("--form requires --format traces", "leave it out");
  if (options.format == Format::preference && options.filter == store::Filter::none)
    return fail("--format preference excludes --filter none: pairs need a correct answer",
                "leave --filter out, or give fast_1");
  std::string ending = fs::path(flags.output).extension().string();
  if (ending != ".jsonl" && ending != ".parquet" && ending != ".json")
    return fail(fmt::format("--output {}: the extension is not .jsonl, .parquet or .json", flags.output));
  if (ending == ".parquet" && options.format == Format::traces)
    return fail("--format traces excludes Parquet", "use the extension .json or .jsonl");
  return {};
}

bool is_parquet_of_rows(const fs::path& file) {
  const std::string footer = table::parquet_footer(file.string());
  return footer.contains("sample_key") && footer.contains("sample_number") && footer.contains("trust");
}

bool is_card(const fs::path& file) {
  auto text = read_text_file(file);
  return text && text->contains("each judged by Kernelwright");
}

// An earlier export of the same kind is replaced, and no other file.
Result<> check_written(const ExportFlags& flags) {
  if (auto other = check_not_input(flags); !other) return other;
  auto content = flags.format == ExportFormat::traces ? store::FileContent::traces : store::FileContent::rows;
  auto is_ours = [&](const fs::path& file) {
    if (file.extension() == ".parquet") return is_parquet_of_rows(file);
    auto found = store::content_of(file);
    return found == content || found == store::FileContent::none;
  };
  std::string wanted = fmt::format("an export of kernelwright with --format {}", to_string(flags.format));
  if (auto ours = check_ours(flags.output, wanted, is_ours); !ours) return ours;
  return check_ours(flags.output + ".card.md", "a dataset card of kernelwright", is_card);
}

// The form of traces: multi-turn if any trace has more than one turn.
Result<store::Form> form_of(const ExportFlags& flags) {
  if (flags.form) return *flags.form;
  auto reader = store::open_run(flags.run);
  if (!reader) return std::unexpected(reader.error());
  while (true) {
    auto trace = (*reader)->next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return store::Form::single;
    if ((*trace)->rounds.size() > 1) return store::Form::multi;
    for (const Conversation& round : (*trace)->rounds)
      if (round.turns.size() > 1) return store::Form::multi;
  }
}

Result<> to_parquet(const fs::path& rows, const fs::path& output, const std::string& chosen_python) {
  auto installation = engine::find_installation();
  if (!installation) return std::unexpected(installation.error());
  auto python = engine::find_python(chosen_python, *installation);
  if (!python) return std::unexpected(python.error());
  fs::path script;
  for (const fs::path& folder : installation->python_path)
    if (auto found = folder / "kernelwright/_dataset/parquet_write.py"; fs::exists(found)) script = found;
  auto child =
      process::start_helper({python->path.string(), script.string(), rows.string(), output.string()});
  if (!child) return std::unexpected(child.error());
  return child->first.finish();
}

// Writes the rows as JSON lines next to the output, converts them, and removes them.
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
    return fail(fmt::format("{} has no finished trace", flags.run), "continue the run, then export it");
  if (tally.left_out.empty() && tally.benchmarks == 0)
    return fail(
        fmt::format(
            "no row for {}: {} of {} has an answer", flags.output,
            tally.traces == 1 ? "the trace" : fmt::format("none of the {}", counted(tally.traces, "trace")),
            flags.run),
        "the run stores why its requests failed: `kernelwright report RUN`; continue it, then export");
  std::string remedy = "use a weaker --filter";
  if (tally.left_out.contains(store::not_known_to_count))
    remedy =
        "`kernelwright run --traces F --model-replay F` judges recorded answers; --filter none exports all";
  else if (tally.benchmarks > 0)
    remedy = "--include-benchmarks also exports tasks of KernelBench";
  return fail(fmt::format("no row for {}: of {}, left out: {}", flags.output, counted(tally.traces, "trace"),
                          store::left_out_in_words(tally)),
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
    fmt::print(stderr, "note: {} of KernelBench and left out (--include-benchmarks)\n",
               counted(tally->benchmarks, "trace is", "traces are"));
  if (flags.quiet) return {};
  fmt::print("{} from {}: {}, {}\n", counted(tally->rows, "row"), counted(tally->traces, "trace"),
             output.string(), card.string());
  if (std::string why = store::left_out_in_words(*tally); !why.empty()) fmt::print("left out: {}\n", why);
  return {};
}

}  // namespace

Result<> check_not_input(const ExportFlags& flags) {
  std::error_code ignored;
  for (const fs::path& input : {fs::path(flags.run), fs::path(flags.run) / "run.db"})
    if (fs::equivalent(flags.output, input, ignored))
      return fail(fmt::format("the output would overwrite the input {}", input.string()),
                  "give another --output");
  return {};
}

int export_run(const ExportFlags& flags) {
  if (flags.format == ExportFormat::harbor) return export_for_harbor(flags);
  if (flags.harbor.any()) {
    complain(Error{fmt::format("--format {} excludes the options of harbor", to_string(flags.format)),
                   "leave them out; `kernelwright export --help` lists them under Harbor"});
    return exit_usage;
  }
  if (!row_format(flags.format)) return export_for_others(flags);
  store::TrainingOptions options = options_of(flags);
  auto reviews = flags.review.read(flags.run);
  if (!reviews) return failed(reviews.error());
  options.reviews = std::move(*reviews);
  if (auto good = check_export_flags(flags, options); !good) {
    complain(good.error());
    return exit_usage;
  }
  if (auto may = check_written(flags); !may) return failed(may.error());
  if (auto written = write_all(flags, options); !written) return failed(written.error());
  return 0;
}

}  // namespace kw::app
