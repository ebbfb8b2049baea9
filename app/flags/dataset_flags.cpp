#include "flags/dataset_flags.h"

#include "flags/parse.h"

namespace kw {
namespace {

Result<unsigned> parse_target(const std::string& text) {
  std::string digits = text.starts_with("sm_") ? text.substr(3) : text;
  auto value = parse_whole(digits, 70, 120);
  if (!value) return std::unexpected(value.error());
  return static_cast<unsigned>(*value);
}

std::function<Result<std::uint64_t>(const std::string&)> whole(std::uint64_t least, std::uint64_t most) {
  return [least, most](const std::string& text) { return parse_whole(text, least, most); };
}

std::function<Result<std::string>(const std::string&)> one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) { return parse_choice(text, words); };
}

void add_sources(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Sources";
  app.add_option("SOURCE", flags.sources,
                 "folders, git checkouts, wheels, sdists, zip and tar archives; runs and exported traces");
  app.add_option("--pypi", flags.packages, "packages to fetch through pip; nothing of them is run")
      ->type_name("NAME[==V]")
      ->group(group);
  add_parsed<std::string>(app, "--pypi-form", flags.package_form, one_of({"auto", "wheel", "sdist"}),
                          "auto: a wheel without binaries, else the sdist, else any wheel [auto]")
      ->type_name("auto|wheel|sdist")
      ->group(group);
  app.add_option("--pairs", flags.pairs, "folders of pairs made by hand: NAME.cu beside NAME.py")
      ->type_name("DIR")
      ->group(group);
  app.add_flag("--add", flags.add_to, "to the sources of the last build in this folder")->group(group);
  add_parsed<std::optional<std::uint64_t>>(
      app, "--largest-file", flags.largest_file_bytes,
      [](const std::string& text) -> Result<std::optional<std::uint64_t>> {
        auto bytes = parse_bytes(text);
        if (!bytes) return std::unexpected(bytes.error());
        return *bytes;
      },
      "files over this size are passed over [16M]")
      ->type_name("SIZE")
      ->group(group);
}

void add_licences(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Licences";
  app.add_option("--licences", flags.licences, "SPDX identifiers to take [permissive ones]")
      ->type_name("ID")
      ->group(group);
  app.add_flag("--any-licence", flags.any_licence, "take every licence, and none")->group(group);
  app.add_option("--licence-of", flags.stated, "the licence of what has none in a source, by its name")
      ->type_name("SOURCE=ID")
      ->group(group);
}

void add_rows(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Rows";
  add_parsed<std::string>(app, "--fim", flags.fim, one_of({"mixed", "psm", "spm", "both"}),
                          "how holes are rendered: psm, spm, both, or mixed by their hash [mixed]")
      ->type_name("WORD")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--holes", flags.holes, whole(0, 100),
                            "of each kind (block, expression, call) in a kernel at most [1]")
      ->type_name("N")
      ->group(group);
  app.add_flag("--cuda-fim", flags.cuda_fim, "rows of CUDA functions too")->group(group);
  add_parsed<double>(app, "--least-confidence", flags.least_confidence, parse_share,
                     "of a pair that becomes a row [0.6]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<double>(app, "--validation", flags.validation_share, parse_share,
                     "share of the groups that go to validation [0.02]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--seed", flags.seed, whole(0, ~std::uint64_t{0} >> 1U),
                            "of the choice of holes and of the split [0]")
      ->type_name("N")
      ->group(group);
  app.add_option("--review", flags.review, "decisions of people: keep, drop [review.csv in --out]")
      ->type_name("F")
      ->group(group);
  app.add_flag("--hold-flagged", flags.hold_flagged,
               "rows that resemble a benchmark wait for a decision, instead of being kept with a flag")
      ->group(group);
}

void add_labels(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Labels";
  app.add_flag("!--no-compile", flags.compile, "do not try whether kernels compile")->group(group);
  app.add_option_function<std::vector<std::string>>(
         "--targets",
         [&flags](const std::vector<std::string>& texts) {
           flags.targets.clear();
           for (const std::string& text : texts) {
             auto target = parse_target(text);
             if (!target) throw CLI::ValidationError("--targets", target.error().what);
             flags.targets.push_back(*target);
           }
         },
         "compute capabilities to compile for [80 90]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::size_t>(app, "--jobs", flags.jobs, whole(1, 1'024), "compilations at once [cores]")
      ->type_name("N")
      ->group(group);
  app.add_option("--nvcc", flags.nvcc, "compiler for CUDA [PATH]")->type_name("PATH")->group(group);
  app.add_flag("--allow-unsandboxed", flags.allow_unsandboxed,
               "compile with your own rights where the host refuses the sandbox")
      ->group(group);
}

void add_outputs(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Output";
  app.add_option("--out", flags.out, "the folder to write")->required()->type_name("DIR")->group(group);
  app.add_option("--state", flags.state, "what the next build need not do again [.state in --out]")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--tokenizer", flags.tokenizer, "a tokenizer.json to count with [one trained on the rows]")
      ->type_name("F")
      ->group(group);
  app.add_flag("!--no-tokens", flags.tokens, "do not count tokens")->group(group);
  app.add_flag("!--no-figures", flags.figures, "draw nothing")->group(group);
  app.add_option("--push-to-hub", flags.push_to_hub, "upload the folder to this dataset repository")
      ->type_name("REPO")
      ->group(group);
  app.add_flag("--private", flags.is_private, "the repository is made private")->group(group);
}

}  // namespace

void DatasetMachineFlags::add(CLI::App& app) {
  const std::string group = "Machine";
  add_parsed<std::size_t>(app, "--threads", threads, whole(1, 1'024), "[cores]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--memory", memory_bytes, parse_bytes,
                            "for bands and shingles of near duplicates; more goes to disk [2G]")
      ->type_name("SIZE")
      ->group(group);
  app.add_option("--python", python, "Python with our requirements [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH")
      ->group(group);
  app.add_flag("--quiet,-q", quiet, "say nothing but errors")->group(group);
}

void NearFlags::add(CLI::App& app) {
  const std::string group = "Near duplicates";
  add_parsed<double>(app, "--near-threshold", threshold, parse_share,
                     "Jaccard index from which two texts are near duplicates [0.8]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--shingle", shingle_tokens, whole(1, 64), "tokens a shingle [5]")
      ->type_name("N")
      ->group(group);
}

void LeakFlags::add(CLI::App& app, const std::string& what) {
  const std::string group = "Leakage";
  app.add_option("--against", against, what)->type_name("PATH")->group(group);
  add_parsed<double>(app, "--leak-jaccard", jaccard, parse_share,
                     "Jaccard index of the words from which a text is flagged [0.8]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<std::optional<double>>(
      app, "--leak-containment", containment,
      [](const std::string& text) -> Result<std::optional<double>> {
        auto share = parse_share(text);
        if (!share) return std::unexpected(share.error());
        return *share;
      },
      "share of a benchmark's text that must not occur in a row")
      ->type_name("SHARE")
      ->group(group);
}

void ColumnFlags::add(CLI::App& app) {
  const std::string group = "Columns";
  app.add_option("--prompt-column", prompt, "[prompt]")->type_name("NAME")->group(group);
  app.add_option("--completion-column", completion, "[completion]")->type_name("NAME")->group(group);
  app.add_flag("--single-text", single_text, "rows have one text: text, content or code")->group(group);
}

void DatasetBuildFlags::add(CLI::App& app) {
  add_sources(app, *this);
  add_licences(app, *this);
  add_rows(app, *this);
  add_labels(app, *this);
  near.add(app);
  leak.add(app, "benchmarks: a KernelBench or TritonBench checkout, a folder of code, a file of rows");
  add_outputs(app, *this);
  machine.add(app);
}

void DatasetDedupFlags::add(CLI::App& app) {
  app.add_option("FILE", files, "rows: CSV, JSON lines or Parquet")->required();
  app.add_option("--against", against, "drop what these files have")->type_name("FILE");
  app.add_option("--out", out, "the rows that are kept; beside it F.duplicates.jsonl says what was dropped")
      ->required()
      ->type_name("F");
  app.add_option("--index", index, "a folder that remembers sketches for the next time")->type_name("DIR");
  add_parsed<std::string>(app, "--keep", keep, one_of({"first", "longest"}),
                          "of near duplicates: the first or the longest row [first]")
      ->type_name("first|longest");
  app.add_flag("--exact-only", exact_only, "leave near duplicates");
  near.add(app);
  columns.add(app);
  machine.add(app);
}

void DatasetAuditFlags::add(CLI::App& app) {
  app.add_option("FILE", files, "rows: CSV, JSON lines or Parquet")->required();
  app.add_option("--validation", validation, "rows that must not resemble those of FILE")->type_name("FILE");
  app.add_option("--out", out, "a folder for flags.jsonl and review.csv")->type_name("DIR");
  app.add_flag("!--no-rows", between_rows, "do not compare rows with each other");
  app.add_flag("--fail-on-leak", fail_on_leak, "exit with 1 where a row resembles a benchmark");
  leak.add(app, "benchmarks: a KernelBench or TritonBench checkout, a folder of code, a file of rows");
  columns.add(app);
  machine.add(app);
}

void DatasetExportFlags::add(CLI::App& app) {
  app.add_option("SOURCE", source, "the folder of a build, or a file of rows")->required();
  app.add_option("--out", out, "F.csv, F.jsonl or F.parquet")->required()->type_name("F");
  app.add_option("--kind", kinds, "of a build: fim, cu2triton, torch2triton, trace [all]")
      ->type_name("WORD")
      ->check(CLI::IsMember({"fim", "cu2triton", "torch2triton", "trace"}));
  app.add_option("--split", split, "train or validation [both]")
      ->type_name("WORD")
      ->check(CLI::IsMember({"train", "validation"}));
  app.add_option("--label", labels,
                 "only rows with all of these: compilable, masked_loads, boundary_check, shared_memory, "
                 "atomics, autotune, self_contained, clear_argument_shapes")
      ->type_name("WORD")
      ->check(CLI::IsMember({"compilable", "masked_loads", "boundary_check", "shared_memory", "atomics",
                             "autotune", "self_contained", "clear_argument_shapes"}));
  app.add_flag("--unflagged", unflagged, "only rows without a flag of leakage");
  app.add_flag("--metadata", metadata, "all columns, not prompt and completion alone");
  app.add_flag("--messages", messages, "rows as conversations: {\"messages\": [...]}");
  columns.add(app);
  machine.add(app);
}

}  // namespace kw
