#include "dataset/build/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/core/counted.h"
#include "dataset/licence/expression.h"
#include "types/card.h"

namespace kw::dataset {
namespace {

using Named = std::pair<std::string, std::uint64_t>;

// The most frequent first, equally frequent ones by name. Entries beyond `most` become one.
std::vector<Named> ranked(const Counts& counts, std::size_t most) {
  std::vector<Named> list(counts.begin(), counts.end());
  std::erase_if(list, [](const Named& each) { return each.second == 0; });
  std::ranges::sort(list, [](const Named& a, const Named& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (list.size() <= most + 1) return list;
  Named others{fmt::format("{} others", list.size() - most), 0};
  for (std::size_t i = most; i < list.size(); ++i) others.second += list[i].second;
  list.resize(most);
  list.push_back(std::move(others));
  return list;
}

std::string line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace

std::string flag_in_words(std::string_view key) {
  auto [relation, against] = std::pair(key.substr(0, key.find(' ')), key.substr(key.find(' ') + 1));
  if (relation == "benchmark") return fmt::format("similar to the benchmark {}", against);
  if (relation == "rows") return fmt::format("similar to other {}", against);
  if (relation == "split") return fmt::format("similar to the {} split", against);
  if (relation == "prompt_completion") return "prompt and completion are similar";
  return std::string(key);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (part == 0 || whole == 0) return "0%";
  double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return share < 0.05 ? "&lt;0.1%" : fmt::format("{:.1f}%", share);
}

std::uint64_t sum(const Counts& counts) {
  std::uint64_t all = 0;
  for (const auto& [name, count] : counts) all += count;
  return all;
}

std::uint64_t count_of(const Counts& counts, const std::string& name) {
  auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

std::string in_words(const Counts& counts, std::size_t most) {
  std::vector<std::string> words;
  for (const auto& [name, count] : ranked(counts, most))
    words.push_back(fmt::format("{} {}", grouped(count), table_cell(name)));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string markdown(const Table& table) {
  if (table.rows.empty()) return {};
  std::vector<std::string> rules(table.heads.size(), table.all_text ? "---" : "--:");
  rules.front() = "---";
  std::string text = "\n" + line(table.heads) + fmt::format("|{}|\n", fmt::join(rules, "|"));
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string shares(std::string_view title, const Counts& counts, std::uint64_t whole, std::size_t most) {
  Table table{.heads = {std::string(title), "rows", "share"}};
  for (const auto& [name, count] : ranked(counts, most))
    table.rows.push_back({table_cell(name), grouped(count), percent(count, whole)});
  return markdown(table);
}

namespace {

std::string head(const BuildSummary& facts) {
  return fmt::format(
      "# Analysis of the data set\n\n{} ({}) from {}; {} for training, {} for validation. Built by "
      "Kernelwright {}.\n",
      counted(facts.rows.rows, "row"), in_words(facts.rows.kinds), counted(facts.sources.size(), "source"),
      grouped(count_of(facts.rows.splits, "train")), grouped(count_of(facts.rows.splits, "validation")),
      table_cell(facts.program));
}

std::string warnings(const BuildSummary& facts) {
  if (facts.warnings.empty() && facts.alarms.empty()) return {};
  std::string text = "\n## Warnings\n\n";
  for (const std::string& alarm : facts.alarms) text += "- **" + table_cell(alarm) + "**\n";
  for (const std::string& warning : facts.warnings) text += "- " + table_cell(warning) + "\n";
  return text;
}

std::string sources(const BuildSummary& facts) {
  Table table{.heads = {"source", "kind", "files taken", "of", "units", "left out for licence",
                        "for hardware", "rows"}};
  for (const SourceFacts& source : facts.sources) {
    std::string name = source_name(source.origin);
    table.rows.push_back(
        {table_cell(name), std::string(to_string(source.origin.kind)), grouped(source.tally.files_taken),
         grouped(source.tally.files_seen), grouped(sum(source.units)), grouped(sum(source.licence_refused)),
         grouped(sum(source.hardware_refused)), grouped(count_of(facts.rows.sources, name))});
  }
  return "\n## Sources\n" + markdown(table) +
         fmt::format("\nUnits found: {}. More on each source: PROVENANCE.md.\n", in_words(facts.units));
}

std::string rows(const BuildSummary& facts) {
  const RowFacts& rows = facts.rows;
  return "\n## Rows\n" + shares("kind", rows.kinds, rows.rows) + shares("hole", rows.nodes, rows.rows) +
         shares("rendering", rows.renderings, rows.rows) + shares("hardware", rows.targets, rows.rows) +
         shares("made by a program", rows.generators, rows.rows) +
         shares("licence", rows.licences, rows.rows) + shares("source", rows.sources, rows.rows) +
         shares("split", rows.splits, rows.rows);
}

std::string left_out(const BuildSummary& facts) {
  Counts hardware;
  for (const SourceFacts& source : facts.sources)
    for (const auto& [target, count] : source.hardware_refused) hardware[target] += count;
  std::string text = fmt::format(
      "\n## Left out\n\nFunctions found, by the hardware that they are for: {}. Units left out for other "
      "hardware: "
      "{}.\n",
      in_words(facts.targets, 20), in_words(hardware, 20));
  Table rows{.heads = {"rows not made", "count"}};
  for (const auto& [reason, count] : ranked(facts.rows_left_out, 20))
    rows.rows.push_back({table_cell(reason), grouped(count)});
  Table kernels{.heads = {"kernels without a row (skipped.jsonl)", "count"}};
  for (const auto& [reason, count] : ranked(facts.kernels_without_rows, 20))
    kernels.rows.push_back({table_cell(reason), grouped(count)});
  return text + markdown(rows) + markdown(kernels);
}

std::string pairs(const BuildSummary& facts) {
  return fmt::format(
      "\n## Pairs\n\nWritten: {} of a CUDA function and its Triton rewrite, and {} of a PyTorch module and "
      "Triton code. {} of a CUDA function and a Triton function had less evidence than required.\n",
      counted(facts.cuda_pairs, "pair"), counted(facts.torch_pairs, "pair"),
      counted(facts.cuda_pairs_weak, "further pair"));
}

std::string duplicates(const BuildSummary& facts) {
  const DuplicateFacts& d = facts.duplicates;
  std::uint64_t all = sum(facts.units);
  Table table{.heads = {"units left out", "count", "share of all found"}};
  table.rows = {
      {"the same text", grouped(d.exact_units), percent(d.exact_units, all)},
      {"equal except for names and layout", grouped(d.renamed_units), percent(d.renamed_units, all)},
      {"near duplicates", grouped(d.near_units), percent(d.near_units, all)}};
  return "\n## Duplicates\n" + markdown(table) +
         fmt::format(
             "\n{}, the largest of {}. Near duplicates: {}, {} verified by the exact Jaccard index, {} at or "
             "over the threshold. Rows removed because another row has the same text: {}.\n",
             counted(d.clusters, "cluster"), counted(d.largest_cluster, "unit"),
             counted(d.candidates, "candidate pair"), grouped(d.verified), grouped(d.over),
             grouped(d.exact_rows));
}

std::string split(const BuildSummary& facts) {
  const SplitFacts& s = facts.split;
  std::string text =
      "\n## Split\n" +
      markdown({.heads = {"split", "families", "kernels", "rows"},
                .rows = {{"train", grouped(s.train_families), grouped(s.train_kernels),
                          grouped(count_of(facts.rows.splits, "train"))},
                         {"validation", grouped(s.validation_families), grouped(s.validation_kernels),
                          grouped(count_of(facts.rows.splits, "validation"))}}});
  text += fmt::format(
      "\nA family is all kernels of the files that contain near copies of each other; the largest has {}. ",
      counted(s.largest_family, "kernel"));
  if (count_of(facts.rows.splits, "validation") == 0) return text + "There is no validation row to check.\n";
  return text + fmt::format(
                    "Check of the written rows: of {} of validation families, {} in a training row; of {} "
                    "of validation rows, {}. Left out for this: {} with such a function, {} with such an "
                    "answer.\n",
                    counted(s.functions, "function"), grouped(s.functions_leaked),
                    counted(s.answers, "long answer"), grouped(s.answers_leaked),
                    counted(s.train_left_out, "training row"), counted(s.answers_left_out, "validation row"));
}

std::string benchmarks(const BuildSummary& facts) {
  if (facts.benchmarks.empty())
    return "\nBenchmarks: **not checked**. The build had no `--against`, so copies of benchmark tasks may be "
           "among the rows.\n";
  Table table{.heads = {"benchmark", "texts", "rows that resemble it", "of these written", "SHA-256"}};
  for (const BenchmarkFacts& each : facts.benchmarks)
    table.rows.push_back({table_cell(each.benchmark.name), grouped(each.benchmark.texts), grouped(each.found),
                          grouped(each.written), each.benchmark.sha256});
  return markdown(table);
}

Counts flags_in_words(const Counts& leaks) {
  Counts flags;
  for (const auto& [key, count] : leaks) flags[flag_in_words(key)] += count;
  return flags;
}

std::string leakage(const BuildSummary& facts) {
  std::string text = "\n## Leakage\n" + benchmarks(facts);
  if (facts.rows.leaks.empty())
    text += fmt::format(
        "\nNo row resembles {}another row, the other split or its own prompt more than allowed.\n",
        facts.benchmarks.empty() ? "" : "a benchmark, ");
  else
    text += "\nFlagged for review, with spans in the metadata; a row may have several flags.\n" +
            shares("flag", flags_in_words(facts.rows.leaks), facts.rows.rows);
  if (!facts.rows.review.empty())
    text += fmt::format("\nReview decisions applied: {}.\n", in_words(facts.rows.review));
  return text;
}

// Labels of the kernels with rows; if these were not counted, of all kept kernels.
std::string labels(const BuildSummary& facts) {
  const Counts& compile = facts.rows.compile.empty() ? facts.units_compile : facts.rows.compile;
  std::uint64_t kernels = sum(compile);
  std::uint64_t tried = kernels - count_of(compile, "not_tried");
  std::uint64_t unknown = count_of(compile, "signature_unknown");
  std::string text = fmt::format(
      "\n## Labels\n\nOf {} with rows, {} compiled. For {} of these ({}) the signature is unknown, so "
      "whether they compile is undecided.\n",
      counted(kernels, "kernel"), tried == 1 ? "1 was" : grouped(tried) + " were", grouped(unknown),
      percent(unknown, tried));
  Table table{.heads = {"compile", "kernels", "share of those tried"}};
  for (const char* name : {"compilable", "fails", "signature_unknown"})
    table.rows.push_back({name, grouped(count_of(compile, name)), percent(count_of(compile, name), tried)});
  text += markdown(table);
  if (!facts.compile_reasons.empty())
    text += fmt::format("\nThe most frequent reasons: {}.\n", in_words(facts.compile_reasons, 10));
  return text + shares("property of the kernel", facts.rows.labels, facts.rows.rows);
}

// The range of the quantile's bucket.
std::string range(const Histogram& histogram, double share) {
  std::uint64_t low = histogram.quantile(share);
  std::uint64_t high = low == 0 ? 1 : low + (low - 1);
  low = std::max(low, histogram.least);
  high = std::min(high, histogram.most);
  return low >= high ? grouped(low) : fmt::format("{}–{}", grouped(low), grouped(high));
}

// What a recipe with that data.max_length does with the rows.
std::string over_limit(const RowFacts& rows) {
  Table table{
      .heads = {"data.max_length", "rows dropped: the prompt fills it", "share", "rows cut", "share"}};
  for (const auto& [limit, counts] : rows.limits) {
    const std::uint64_t cut = counts.longer - counts.dropped;
    table.rows.push_back({grouped(limit), grouped(counts.dropped), percent(counts.dropped, rows.rows),
                          grouped(cut), percent(cut, rows.rows)});
  }
  return markdown(table);
}

std::string lengths(const BuildSummary& facts) {
  Table table{.heads = {"", "least", "10%", "median", "90%", "99%", "most", "mean"}};
  auto add = [&](const char* name, const Histogram& h) {
    if (h.count == 0) return;
    table.rows.push_back({name, grouped(h.least), range(h, 0.1), range(h, 0.5), range(h, 0.9), range(h, 0.99),
                          grouped(h.most), grouped(h.sum / h.count)});
  };
  add("prompt, characters", facts.rows.prompt_characters);
  add("completion, characters", facts.rows.completion_characters);
  add("completion, tokens (estimated)", facts.rows.completion_tokens);
  add("prompt and completion, tokens", facts.rows.tokens);
  std::string text = "\n## Lengths\n" + markdown(table);
  if (!facts.tokenizer.empty()) text += over_limit(facts.rows);
  if (!facts.tokenizer.empty()) return text + fmt::format("\nTokens of {}.\n", table_cell(facts.tokenizer));
  return text + fmt::format("\nTokens were not counted: {}.\n", facts.tokens_why_null.empty()
                                                                    ? "not asked for"
                                                                    : table_cell(facts.tokens_why_null));
}

std::string made(const BuildSummary& facts) {
  std::string text = "\n## Build\n";
  if (!facts.made_by.empty()) text += fmt::format("\n`{}`\n", table_cell(facts.made_by));
  Table table{.heads = {"parameter", "value"}, .all_text = true};
  for (const auto& member : facts.parameters)
    table.rows.push_back({table_cell(member.key()), table_cell(readable(member.value()))});
  return text + markdown(table) + (facts.has_figures ? "\nCharts: figs/.\n" : "");
}

}  // namespace

std::string analysis_markdown(const BuildSummary& facts) {
  return head(facts) + warnings(facts) + sources(facts) + rows(facts) + left_out(facts) + pairs(facts) +
         duplicates(facts) + split(facts) + leakage(facts) + labels(facts) + lengths(facts) + made(facts);
}

namespace {

// The hub knows no expressions: "A AND B" is two licences for it.
std::vector<std::string> terms_of(const std::string& spdx) {
  auto parsed = licence::parse_expression(spdx);
  if (!parsed || parsed->kind != licence::Expression::Kind::all) return {spdx};
  std::vector<std::string> terms;
  for (const licence::Expression& part : parsed->parts) terms.push_back(licence::to_string(part));
  return terms;
}

std::string licence_list(const Counts& counts) {
  std::set<std::string> ids;
  for (const auto& [spdx, count] : counts)
    for (const std::string& term : terms_of(spdx)) ids.insert(hub_licence(term));
  if (ids.empty()) ids.insert("other");
  std::string text = "license:\n";
  for (const std::string& id : ids) text += fmt::format("- {}\n", yaml_text(id));
  return text;
}

std::string data_files(const std::vector<CardConfig>& configs) {
  if (configs.empty()) return {};
  std::string text = "configs:\n";
  for (const CardConfig& config : configs) {
    text += fmt::format("- config_name: {}\n  data_files:\n", yaml_text(config.name));
    for (const auto& [split, path] : config.files)
      text += fmt::format("  - split: {}\n    path: {}\n", yaml_text(split), yaml_text(path));
  }
  return text;
}

std::string front_matter(const BuildSummary& facts, const std::vector<CardConfig>& configs) {
  return fmt::format(
      "---\n{}language:\n- code\ntask_categories:\n- text-generation\ntags:\n- triton\n- cuda\n- "
      "gpu-kernels\n"
      "size_categories:\n- {}\n{}---\n",
      licence_list(facts.rows.licences), size_category(facts.rows.rows), data_files(configs));
}

std::string_view about(const std::string& config) {
  if (config == "fim")
    return "the prompt is a kernel's code with one part removed, the completion is the removed part";
  if (config == "cu2triton") return "the prompt is a CUDA function, the completion its Triton rewrite";
  if (config == "torch2triton") return "the prompt is a PyTorch module, the completion Triton code for it";
  if (config == "trace") return "the prompt is a task, the completion a model's judged answer";
  return "prompt and completion";
}

std::string usage(const std::vector<CardConfig>& configs) {
  if (configs.empty()) return {};
  std::string text = "\n";
  for (const CardConfig& config : configs)
    text += fmt::format("- `{}`: {}\n", table_cell(config.name), about(config.name));
  return text +
         fmt::format("\n```python\nimport datasets\nrows = datasets.load_dataset(\"FOLDER\", {})\n```\n",
                     yaml_text(configs.front().name));
}

constexpr std::size_t most_flags = 20;

constexpr std::string_view columns =
    "\n## Columns\n\n`prompt` and `completion` are the texts. Metadata columns: `source_*` and `block_*` "
    "(source, path, bytes), `licence` with `licence_evidence`, `duplicate_of`, `cluster`, `leakage` (the "
    "texts that the row resembles, with spans), `compile` and properties of the kernel (`masked_loads`, "
    "`autotune` and others), `target` (the hardware that it is for), `generator` (of machine-made code), "
    "`provenance`, `difficulty_*`, `tokens`, `split`, `hole_*` for holes, `pair_*` for pairs, and `verdict` "
    "(JSON "
    "text) for traces.\n";

}  // namespace

std::string card(const BuildSummary& facts, const std::vector<CardConfig>& configs) {
  const RowFacts& rows = facts.rows;
  std::string text = front_matter(facts, configs);
  text += fmt::format(
      "# GPU kernels for training\n\n{} ({}) from {}, extracted by Kernelwright {} from source code. "
      "Duplicates are removed, and licences are recorded. Benchmarks: {}.\n",
      counted(rows.rows, "row"), in_words(rows.kinds), counted(facts.sources.size(), "source"),
      table_cell(facts.program), table_cell(benchmarks_in_words(facts.benchmarks)));
  text += usage(configs);
  text += columns;
  text +=
      "\n## Licences\n\nThe licence of a row is that of its source file; a pair has the "
      "licences of both sides. Their terms apply.\n";
  text += shares("licence", rows.licences, rows.rows) + "\n## Sources\n";
  text += shares("source", rows.sources, rows.rows);
  if (!rows.leaks.empty()) {
    text += "\n## Flags\n\nThe data set contains these flagged rows; exclude them where leakage matters.\n\n";
    for (const auto& [flag, count] : ranked(flags_in_words(rows.leaks), most_flags))
      text += fmt::format("- {}: {}\n", counted(count, "row"), table_cell(flag));
  }
  text += limitations(facts);
  return text + fmt::format("\nSee ANALYSIS.md for statistics{} PROVENANCE.md for the sources{}.\n",
                            facts.has_figures ? "," : " and",
                            facts.has_figures ? " and figs/ for charts" : "");
}

namespace {

std::string item(std::string_view name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format("- {}: {}\n", name, table_cell(value));
}

std::string origin(const SourceFacts& source) {
  const corpus::Origin& o = source.origin;
  return fmt::format("\n## {}\n\n", table_cell(source_name(o))) +
         item("kind", std::string(to_string(o.kind))) + item("version", o.version) +
         item("commit", o.commit) + item("SHA-256 of the archive", o.sha256) + item("published at", o.url) +
         (o.stars ? fmt::format("- stars: {}\n", *o.stars) : std::string());
}

std::string files(const SourceFacts& source) {
  const collect::Tally& tally = source.tally;
  std::string text = fmt::format(
      "- files: {} of {} were used ({} of {} bytes); {} of these contain parts that are not valid code\n- "
      "units: {}\n",
      grouped(tally.files_taken), grouped(tally.files_seen), grouped(tally.bytes_taken),
      grouped(tally.bytes_seen), grouped(source.files_with_errors), in_words(source.units));
  if (!tally.skipped.empty()) text += fmt::format("- files passed over: {}\n", in_words(tally.skipped, 20));
  if (!source.licence_refused.empty())
    text += fmt::format("- units left out for their licence: {}\n", in_words(source.licence_refused, 20));
  if (!source.hardware_refused.empty())
    text += fmt::format("- units left out for their hardware: {}\n", in_words(source.hardware_refused, 20));
  return text;
}

std::string licence_counts(const SourceFacts& source) {
  Table table{.heads = {"licence", "files with units", "evidence"}, .all_text = true};
  for (const auto& [licence, count] : source.licences) {
    auto evidence = source.licence_evidence.find(licence);
    table.rows.push_back({table_cell(licence), grouped(count),
                          evidence == source.licence_evidence.end() ? "" : in_words(evidence->second)});
  }
  std::string text = markdown(table);
  for (const std::string& restriction : restrictions(source.licences))
    text += fmt::format("\n**Restriction on use**: {}.\n", table_cell(restriction));
  return text;
}

}  // namespace

std::string provenance_markdown(const BuildSummary& facts) {
  std::string text = fmt::format(
      "{}\n{}. Every row names its source, path, bytes and licence in its metadata. Nothing of a source "
      "was imported or run to find it.\n",
      provenance_heading, counted(facts.sources.size(), "source"));
  for (const SourceFacts& source : facts.sources)
    text += origin(source) + files(source) + licence_counts(source);
  if (!facts.rows.provenance.empty()) {
    text +=
        "\n## Code that its files say was taken from elsewhere\n\nThe licence of such a row is that of its "
        "file; the statement is in the row's `provenance`.\n";
    Table table{.heads = {"statement", "rows"}};
    for (const auto& [statement, count] : facts.rows.provenance)
      table.rows.push_back({table_cell(statement), grouped(count)});
    text += markdown(table);
  }
  return text + "\n## Benchmarks that every row was compared with\n" + benchmarks(facts);
}

}  // namespace kw::dataset
