#include "options/score_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "options/parse.h"

namespace kw {
namespace {

void add_score_sources(CLI::App& app, ScoreFlags& flags) {
  const std::string group = "Outputs";
  flags.source.add(app);
  app.get_option("PATH")->description(
      "outputs to score: traces, a run, a batch, or rows of prompt and output (CSV, JSONL, Parquet); with a "
      "model server: tasks as in `run`, or held-out rows of prompt and completion");
  add_word<scoring::Turns>(app, "--turns", flags.turns, "turn of a conversation to score [best]")
      ->group(group);
  app.add_flag("--recorded", flags.recorded, "use the verdicts in the input instead of judging again")
      ->group(group);
  app.add_option("--prompt-column", flags.prompt_column, "prompt column of rows [prompt]")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--output-column", flags.output_column,
                 "output column of rows [output, answer, response, full_completion, kernel_code, completion]")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--reference-column", flags.reference_column,
                 "column of rows with the expected output [reference_completion, completion]")
      ->type_name("NAME")
      ->group(group);
}

// Adds the flags without OPENAI_BASE_URL and a default: only the command line can select a model.
void add_model(CLI::App& app, ScoreFlags& flags) {
  flags.model.url.clear();
  flags.model.add(app);
  app.get_option("--vllm-url")->envname("")->description("get outputs from this OpenAI-compatible server");
  add_parsed<std::uint64_t>(
      app, "--samples", flags.loop.samples_per_task,
      [](const std::string& text) { return parse_whole(text, 1, 10'000); },
      "number of answers per task or row [1]")
      ->type_name("N")
      ->group("Model");
  add_word<refine::PromptStyle>(app, "--prompt-style", flags.loop.style,
                                "form of the requested code: triton_kernel_wrapper or ModelNew [wrapper]")
      ->group("Model");
  app.add_option("--system-prompt", flags.loop.system_prompt,
                 "text file that replaces the built-in system prompt")
      ->type_name("F")
      ->group("Model");
}

void add_comparison(CLI::App& app, ScoreFlags& flags) {
  const std::string group = "Comparison";
  CLI::Option* other = app.add_option("--baseline", flags.baseline,
                                      "baseline: an earlier result, or outputs on the same tasks")
                           ->type_name("F")
                           ->group(group);
  app.add_option("--baseline-model", flags.baseline_model, "baseline: another model of the same server")
      ->type_name("NAME")
      ->excludes(other)
      ->group(group);
  app.add_option("--adapter", flags.adapters,
                 "adapter of the model: refuse tasks and rows from its training data")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--manifest", flags.manifests, "refuse tasks and rows listed in this training_manifest.json")
      ->type_name("F")
      ->group(group);
  app.add_flag("--allow-trained", flags.allow_trained,
               "score tasks and rows from the training data too; the result marks them")
      ->group(group);
}

void add_figures(CLI::App& app, ScoreFlags& flags) {
  const std::string group = "Figures";
  add_parsed<std::vector<std::size_t>>(
      app, "--k", flags.k, parse_k,
      "values of k in pass@k, like 1,5,10 [every k that half of the tasks have samples for]")
      ->type_name("K,...")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--compile", flags.compile,
      [](const std::string& text) { return parse_whole(text, 0, 1'000'000); },
      "compile the kernels of N random answers [0]")
      ->type_name("N")
      ->group(group);
  add_review_count(app, "write a sheet with N answers for human review [100 answers]",
                   [&flags](std::uint64_t count) { flags.review = count; })
      ->group(group);
  app.add_flag("--show-findings", flags.show_findings, "include the findings of the checks in the sheet")
      ->group(group);
  app.add_option(
         "--read-review", flags.read_review,
         "a filled-in review sheet, or the review.jsonl of `view`: read its labels into the result that PATH "
         "names")
      ->type_name("F")
      ->group(group);
}

void add_output(CLI::App& app, ScoreFlags& flags) {
  const std::string group = "Output";
  app.add_option("--output,-o", flags.output,
                 "file for the result; the report is beside it with the extension .md [score.json]")
      ->type_name("F.json")
      ->group(group);
  app.add_flag("--fresh", flags.fresh, "request and judge all answers again")->group(group);
  app.add_flag("--json", flags.json, "print the result as JSON, without the single outputs")->group(group);
  app.add_flag("--dry-run", flags.dry_run, "list scored and refused tasks and exit")->group(group);
  app.add_flag("--quiet,-q", flags.quiet, "print no progress and no table")->group(group);
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
  add_score_sources(app, *this);
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
