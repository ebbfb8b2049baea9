#include "flags/score_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "flags/parse.h"

namespace kw {
namespace {

void add_sources(CLI::App& app, ScoreFlags& flags) {
  const std::string group = "Outputs";
  flags.source.add(app);
  app.get_option("PATH")->description(
      "outputs: traces, a run, a batch, rows of prompt and output (CSV, JSONL, Parquet); where a model is "
      "asked, "
      "tasks as `run` takes them, or held-out rows of prompt and completion");
  add_parsed<std::string>(
      app, "--turns", flags.turns,
      [](const std::string& text) { return parse_choice(text, {"best", "first", "last"}); },
      "which turn stands for a conversation [best]")
      ->type_name("best|first|last")
      ->group(group);
  app.add_flag("--recorded", flags.recorded, "take the verdicts in the input rather than judge again")
      ->group(group);
  app.add_option("--prompt-column", flags.prompt_column, "of rows [prompt]")->type_name("NAME")->group(group);
  app.add_option("--output-column", flags.output_column,
                 "of rows [output, answer, response, full_completion, kernel_code, completion]")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--reference-column", flags.reference_column,
                 "of rows: what the output should be [reference_completion, completion]")
      ->type_name("NAME")
      ->group(group);
}

// Without OPENAI_BASE_URL and a default: a model is asked only where the command line says so.
void add_model(CLI::App& app, ScoreFlags& flags) {
  flags.model.url.clear();
  flags.model.add(app);
  app.get_option("--vllm-url")->envname("")->description("ask this OpenAI-compatible server for outputs");
  add_parsed<std::uint64_t>(
      app, "--samples", flags.loop.samples_per_task,
      [](const std::string& text) { return parse_whole(text, 1, 10'000); }, "answers to each task or row [1]")
      ->type_name("N")
      ->group("Model");
  add_parsed<refine::PromptStyle>(
      app, "--prompt-style", flags.loop.style,
      [](const std::string& text) -> Result<refine::PromptStyle> {
        auto word = parse_choice(text, {"wrapper", "modelnew"});
        if (!word) return std::unexpected(word.error());
        return *word == "wrapper" ? refine::PromptStyle::wrapper : refine::PromptStyle::modelnew;
      },
      "what is asked for: triton_kernel_wrapper or ModelNew [wrapper]")
      ->type_name("wrapper|modelnew")
      ->group("Model");
  app.add_option("--system-prompt", flags.loop.system_prompt, "a text file in place of our system prompt")
      ->type_name("F")
      ->group("Model");
}

void add_comparison(CLI::App& app, ScoreFlags& flags) {
  const std::string group = "Comparison";
  CLI::Option* other = app.add_option("--baseline", flags.baseline,
                                      "the before: an earlier result, or outputs on the same tasks")
                           ->type_name("F")
                           ->group(group);
  app.add_option("--baseline-model", flags.baseline_model, "the before: another model of the same server")
      ->type_name("NAME")
      ->excludes(other)
      ->group(group);
  app.add_option("--adapter", flags.adapters, "an adapter: what it was trained on is refused")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--manifest", flags.manifests, "the same, of a training_manifest.json")
      ->type_name("F")
      ->group(group);
  app.add_flag("--allow-trained", flags.allow_trained, "score it all the same; the result says so everywhere")
      ->group(group);
}

void add_figures(CLI::App& app, ScoreFlags& flags) {
  const std::string group = "Figures";
  add_parsed<std::vector<std::size_t>>(app, "--k", flags.k, parse_k,
                                       "of pass@k, like 1,5,10 [1, and the samples that every task has]")
      ->type_name("K,...")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--compile", flags.compile,
      [](const std::string& text) { return parse_whole(text, 0, 1'000'000); },
      "compile the kernels of N answers, drawn at random [0]")
      ->type_name("N")
      ->group(group);
  app.add_option_function<std::vector<std::string>>(
         "--review",
         [&flags](const std::vector<std::string>& words) {
           flags.review = 100;
           if (words.empty() || words.front().empty()) return;
           auto count = parse_whole(words.front(), 1, 1'000'000);
           if (!count) throw CLI::ValidationError("--review", count.error().what);
           flags.review = *count;
         },
         "write a sheet with N answers for a person to read [100]")
      ->expected(0, 1)
      ->type_name("N")
      ->group(group);
  app.add_flag("--show-findings", flags.show_findings, "the sheet says what the checks found")->group(group);
  app.add_option("--read-review", flags.read_review, "a filled-in sheet: its labels go into the result PATH")
      ->type_name("F")
      ->group(group);
}

void add_output(CLI::App& app, ScoreFlags& flags) {
  const std::string group = "Output";
  app.add_option("--output", flags.output, "the result; the report is beside it, as .md [score.json]")
      ->type_name("F.json")
      ->group(group);
  app.add_flag("--fresh", flags.fresh, "ask and judge anew")->group(group);
  app.add_flag("--json", flags.json, "the result as JSON on standard output, without the single outputs")
      ->group(group);
  app.add_flag("--dry-run", flags.dry_run, "say what would be scored and what is refused, and stop")
      ->group(group);
  app.add_flag("--quiet,-q", flags.quiet, "no progress and no table")->group(group);
}

}  // namespace

Result<std::vector<std::size_t>> parse_k(const std::string& text) {
  std::vector<std::size_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find(',', at), text.size());
    auto k = parse_whole(text.substr(at, end - at), 1, 10'000);
    if (!k) return fail(fmt::format("\"{}\" is not a list of numbers from 1 to 10000, like 1,5,10", text));
    numbers.push_back(*k);
    at = end + 1;
  }
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers;
}

void ScoreFlags::add(CLI::App& app) {
  add_sources(app, *this);
  add_model(app, *this);
  add_comparison(app, *this);
  add_figures(app, *this);
  add_output(app, *this);
}

std::filesystem::path ScoreFlags::beside(const std::string& ending) const {
  std::filesystem::path path(output);
  return path.replace_extension().string() + ending;
}

}  // namespace kw
