#include "options/dataset_flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "options/parse.h"
#include "options/shared_flags.h"

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

void add_build_sources(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Sources";
  app.add_option("SOURCE", flags.sources,
                 "folders, git checkouts, wheels, sdists, zip and tar archives; runs and exported traces");
  app.add_option("--pypi", flags.packages,
                 "packages to fetch with pip; their code is never run. With a SHA-256, the archive must have "
                 "it. A list of `dataset discover --json` gives versions and SHA-256s")
      ->type_name("NAME[==V][#sha256=HEX]|LIST.jsonl")
      ->group(group);
  add_parsed<std::string>(
      app, "--pypi-form", flags.package_form,
      [](const std::string& text) { return parse_choice(text, {"auto", "wheel", "sdist"}); },
      "form to fetch; auto: a wheel without binaries, else the sdist, else any wheel [auto]")
      ->type_name("auto|wheel|sdist")
      ->group(group);
  app.add_option_function<std::vector<std::string>>(
         "--git",
         [&flags](const std::vector<std::string>& texts) {
           flags.repositories.clear();
           for (const std::string& text : texts) {
             auto source = fetch::parse_git_source(text);
             if (!source)
               throw CLI::ValidationError("--git", source.error().what + "; " + source.error().remedy);
             flags.repositories.push_back(std::move(*source));
           }
         },
         "repositories to clone with git, at a commit, a branch or a tag [HEAD]; their code is never run")
      ->type_name("URL[@COMMIT]")
      ->allow_extra_args(false)  // the next word may be a source
      ->group(group);
  app.add_option("--pairs", flags.pairs,
                 "folders of pairs: NAME.cu beside NAME.py, or the output of `dataset synth`")
      ->type_name("DIR")
      ->group(group);
  app.add_flag("--add", flags.add_to, "include the sources of the last build in this folder")->group(group);
  add_parsed<std::optional<std::uint64_t>>(
      app, "--largest-file", flags.largest_file_bytes,
      [](const std::string& text) -> Result<std::optional<std::uint64_t>> {
        auto bytes = parse_bytes(text);
        if (!bytes) return std::unexpected(bytes.error());
        return *bytes;
      },
      "skip files over this size [16M]")
      ->type_name("SIZE")
      ->group(group);
}

void add_licences(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Licences";
  app.add_option("--licences", flags.licences, "SPDX identifiers to allow [permissive licences]")
      ->type_name("ID")
      ->group(group);
  app.add_flag("--any-licence", flags.any_licence, "allow every licence, also an unknown one")->group(group);
  app.add_option("--licence-of", flags.stated, "licence of the files of this source that declare none")
      ->type_name("SOURCE=ID")
      ->group(group);
}

void add_rows(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Rows";
  add_word<pairs::Rendering>(app, "--fim", flags.fim,
                             "order of a row's parts: psm, spm, both, or mixed by the row's hash [psm]")
      ->type_name("WORD")
      ->group(group);
  add_word<pairs::Body>(app, "--body", flags.body,
                        "form of the row of a kernel's body: plain, fim, both, or instruction [plain]")
      ->type_name("WORD")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--max-tokens", flags.max_tokens, whole(64, 1'000'000),
                            "tokens of a fill-in-the-middle row with its context, estimated; as the recipe's "
                            "data.max_length [1024]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--shortest-completion", flags.shortest_completion, whole(1, 1'000'000),
                            "minimum bytes of a fill-in-the-middle completion [32]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--equal-completions", flags.equal_completions, whole(1, 1'000'000'000),
                            "maximum number of fill-in-the-middle rows with the same completion [2]")
      ->type_name("N")
      ->group(group);
  std::vector<std::string> hardware = words_of<corpus::Target>();
  hardware.emplace_back("all");
  limit_to(
      app.add_option("--hardware", flags.hardware, "hardware whose code is taken, or all [neutral nvidia]"),
      hardware)
      ->type_name("WORD")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--holes", flags.holes, whole(0, 100),
                            "maximum number of holes of each kind (block, expression, call) in a kernel [1]")
      ->type_name("N")
      ->group(group);
  app.add_flag("--cuda-fim", flags.cuda_fim, "also make fill-in-the-middle rows of CUDA functions")
      ->group(group);
  add_parsed<double>(app, "--least-confidence", flags.least_confidence, parse_share,
                     "minimum confidence of a pair that becomes a row [0.6]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<double>(app, "--validation", flags.validation_share, parse_share,
                     "share of the kernels in the validation split [0.02]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--seed", flags.seed, whole(0, ~std::uint64_t{0} >> 1U),
                            "seed of the choice of holes and of the split [0]")
      ->type_name("N")
      ->group(group);
  app.add_option("--review", flags.review,
                 "file with reviewers' decisions: keep, drop [review.csv in --output]")
      ->type_name("F")
      ->group(group);
  app.add_flag("--hold-flagged", flags.hold_flagged,
               "leave out rows that resemble a benchmark until a reviewer decides to keep them")
      ->group(group);
}

void add_labels(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Labels";
  app.add_flag("!--no-compile", flags.compile, "do not compile kernels")->group(group);
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
         "compute capabilities to compile for [80 86 90]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::size_t>(app, "--jobs", flags.jobs, whole(1, 1'024),
                          "number of concurrent compilations [cores]")
      ->type_name("N")
      ->group(group);
  app.add_option("--nvcc", flags.nvcc, "compiler for CUDA [nvcc on PATH]")->type_name("PATH")->group(group);
  app.add_flag("--allow-unsandboxed", flags.allow_unsandboxed,
               "compile without a sandbox where the host does not support it")
      ->group(group);
}

void add_outputs(CLI::App& app, DatasetBuildFlags& flags) {
  const std::string group = "Output";
  app.add_option("--output,--out,-o", flags.out, "output folder")->required()->type_name("DIR")->group(group);
  app.add_option("--state", flags.state, "cache for the next build [.state in --output]")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--tokenizer", flags.tokenizer,
                 "tokenizer.json for token counts [a tokenizer trained on the rows]")
      ->type_name("F")
      ->group(group);
  app.add_flag("!--no-tokens", flags.tokens, "do not count tokens")->group(group);
  app.add_flag("!--no-figures", flags.figures, "do not draw figures")->group(group);
  app.add_option("--push-to-hub", flags.push_to_hub,
                 "upload the folder to this dataset repository of the hub")
      ->type_name("REPO")
      ->group(group);
  app.add_flag("--private", flags.is_private, "make a new repository private")->group(group);
}

}  // namespace

void DatasetMachineFlags::add(CLI::App& app) {
  const std::string group = "Machine";
  add_parsed<std::size_t>(app, "--threads", threads, whole(1, 1'024), "number of threads [cores]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--memory", memory_bytes, parse_bytes,
      "memory limit for bands and shingles of near duplicates; the rest goes to disk [2G]")
      ->type_name("SIZE")
      ->group(group);
  app.add_option("--python", python, "Python with the packages of Kernelwright [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH")
      ->group(group);
  app.add_flag("--quiet,-q", quiet, "print errors only")->group(group);
}

void NearFlags::add(CLI::App& app) {
  const std::string group = "Near duplicates";
  add_parsed<double>(app, "--near-threshold", threshold, parse_share,
                     "minimum Jaccard index of near duplicates [0.8]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--shingle", shingle_tokens, whole(1, 64), "tokens per shingle [5]")
      ->type_name("N")
      ->group(group);
}

void LeakFlags::add(CLI::App& app, const std::string& what) {
  const std::string group = "Leakage";
  app.add_option("--against", against, what)->type_name("PATH")->group(group);
  add_parsed<double>(app, "--leak-jaccard", jaccard, parse_share,
                     "minimum Jaccard index of the words that flags a row [0.8]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<std::optional<double>>(
      app, "--leak-containment", containment,
      [](const std::string& text) -> Result<std::optional<double>> {
        auto share = parse_share(text);
        if (!share) return std::unexpected(share.error());
        return *share;
      },
      "minimum share of a benchmark's text in a row that flags the row [0.6]")
      ->type_name("SHARE")
      ->group(group);
}

void ColumnFlags::add(CLI::App& app) {
  const std::string group = "Columns";
  app.add_option("--prompt-column", prompt, "name of the prompt column [prompt]")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--completion-column", completion, "name of the completion column [completion]")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("--single-text", single_text, "rows have one text: text, content or code")->group(group);
}

void DatasetBuildFlags::add(CLI::App& app) {
  add_build_sources(app, *this);
  add_licences(app, *this);
  add_rows(app, *this);
  add_labels(app, *this);
  near.add(app);
  leak.add(app, "benchmarks: a KernelBench or TritonBench checkout, a folder of code, a file of rows");
  add_outputs(app, *this);
  machine.add(app);
}

void DatasetDiscoverFlags::add(CLI::App& app) {
  app.add_option(
      "WORD", word,
      "sources whose name, language (triton, cuda, pytorch) or description contains this word [all]");
  app.add_flag("--json", json, "print JSON lines");
}

void DatasetDedupFlags::add(CLI::App& app) {
  app.add_option("FILE", files, "rows: CSV, JSON lines or Parquet")->required();
  app.add_option("--against", against, "drop rows that these files contain")->type_name("FILE");
  app.add_option("--output,--out,-o", out,
                 "file for the kept rows; F.duplicates.jsonl beside it lists the dropped ones")
      ->required()
      ->type_name("F");
  app.add_option("--index", index, "folder that stores sketches for later calls")->type_name("DIR");
  add_word<dataset::Keep>(app, "--keep", keep,
                          "keep the first or the longest of near-duplicate rows [first]");
  app.add_flag("--exact-only", exact_only,
               "drop rows with equal text only; keep renamed and near duplicates");
  near.add(app);
  columns.add(app);
  machine.add(app);
}

void DatasetAuditFlags::add(CLI::App& app) {
  app.add_option("FILE", files, "rows: CSV, JSON lines or Parquet")->required();
  app.add_option("--validation", validation,
                 "validation rows: flag rows of both sides that resemble each other")
      ->type_name("FILE");
  app.add_option("--output,--out,-o", out, "folder for flags.jsonl and review.csv")->type_name("DIR");
  app.add_flag("!--no-rows", between_rows, "do not compare rows with each other");
  app.add_flag("--fail-on-leak", fail_on_leak, "exit with code 1 if a row resembles a benchmark");
  leak.add(app, "benchmarks: a KernelBench or TritonBench checkout, a folder of code, a file of rows");
  columns.add(app);
  machine.add(app);
}

void DatasetExportFlags::add(CLI::App& app) {
  app.add_option("SOURCE", source, "folder of a build, or a file of rows")->required();
  app.add_option("--output,--out,-o", out, "output file: F.csv, F.jsonl or F.parquet")
      ->required()
      ->type_name("F");
  limit_to(app.add_option("--kind", kinds,
                          "kinds of rows from a build: fim, cu2triton, torch2triton, trace [all]"),
           words_of<corpus::RowKind>())
      ->type_name("WORD");
  limit_to(app.add_option("--split", split, "split to export: train or validation [both]"),
           {"train", "validation"})
      ->type_name("WORD");
  limit_to(
      app.add_option("--label", labels,
                     "only rows with all of these: compilable, masked_loads, boundary_check, shared_memory, "
                     "atomics, autotune, self_contained, clear_argument_shapes"),
      {"compilable", "masked_loads", "boundary_check", "shared_memory", "atomics", "autotune",
       "self_contained", "clear_argument_shapes"})
      ->type_name("WORD");
  app.add_flag("--unflagged", unflagged, "only rows without a leakage flag");
  review.add(app);
  app.add_flag("--metadata", metadata, "export all columns, not only prompt and completion");
  app.add_flag("--messages", messages, "export rows as conversations: {\"messages\": [...]}");
  columns.add(app);
  machine.add(app);
}

void DatasetSynthFlags::add(CLI::App& app) {
  app.add_option("--output,--out,-o", out, "folder of the set; an existing one is continued")
      ->required()
      ->type_name("DIR");
  add_parsed<std::optional<std::uint64_t>>(
      app, "--count", count, [](const std::string& text) { return given(parse_whole(text, 1, 100'000'000)); },
      "number of sources in all [100 drawn ones; of --source named and mined every one]")
      ->type_name("N");
  add_parsed<std::uint64_t>(app, "--seed", seed, whole(0, ~std::uint64_t{0} >> 12U),
                            "seed of the sources [0]")
      ->type_name("N");
  add_word<synth::Source>(
      app, "--source", source,
      "what Triton rewrites: PyTorch functions, CUDA kernels, operations of PyTorch that kernels "
      "of --from are named after, or CUDA kernels of --from that the manifest pairs with Triton "
      "kernels of --from [pytorch]");
  app.add_option("--from", from, "folders, checkouts and archives with kernels, for --source named and mined")
      ->type_name("PATH");
  app.add_option("--manifest", manifest,
                 "folder of *.toml, one for each pair, for --source mined [the pairs that the program lists]")
      ->type_name("DIR");
  std::vector<std::string> known = synth::families_of(synth::Source::pytorch);
  for (synth::Source each : {synth::Source::cuda, synth::Source::named, synth::Source::mined})
    std::ranges::copy(synth::families_of(each), std::back_inserter(known));
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  // The verb checks them: each source has its own.
  with_words(
      app.add_option("--families", families,
                     fmt::format("families of sources [all]; PyTorch: {}; CUDA: {}; named: {}; mined: {}",
                                 fmt::join(synth::families_of(synth::Source::pytorch), ", "),
                                 fmt::join(synth::families_of(synth::Source::cuda), ", "),
                                 fmt::join(synth::families_of(synth::Source::named), ", "),
                                 fmt::join(synth::families_of(synth::Source::mined), ", "))),
      known)
      ->type_name("WORD");
  app.add_flag("--quiet,-q", quiet, "print errors only");
  near.add(app);
  add_settings(app, settings);
  // A pair states at which shapes its kernel is right.
  settings.varied_shapes = "report";
  app.get_option("--varied-shapes")
      ->description(
          "report: try a right result at other shapes too (prime, larger, more rows, 1, empty) and state "
          "where "
          "it is wrong; require: a pair is verified only if it is right there; off: do not try [report]");
}

}  // namespace kw
