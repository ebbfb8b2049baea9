#include "explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <variant>

#include "base/core/display.h"
#include "base/rows/row_reader.h"
#include "judged_sources.h"
#include "loop/tasks/kernelbench_results.h"
#include "output/results.h"
#include "session.h"
#include "types/options.h"
#include "types/verdict.h"
#include "verdict_output.h"
#include "verifier_source.h"
#include "verify/explain/glossary.h"

namespace kw::app {
namespace {

bool is_file(const std::string& subject) {
  std::error_code ignored;
  return subject.contains('/') || subject.contains('.') ||
         (!kw::explain::entries_of(subject) && std::filesystem::exists(subject, ignored));
}

int explain_word(const std::string& word) {
  auto entries = kw::explain::entries_of(word);
  if (!entries) {
    complain(entries.error());
    return exit_usage;
  }
  const Style style = style_of(STDOUT_FILENO);
  for (const auto& entry : *entries)
    fmt::print("{}{}", &entry == &entries->front() ? "" : "\n", to_terminal(entry, style));
  return 0;
}

// A verdict of a file, and its line there.
struct StoredVerdict {
  Verdict verdict;
  Origin origin;
};

Result<std::vector<StoredVerdict>> read_verdicts(const std::string& file) {
  auto recorded = read_kernelbench_results(file);
  if (!recorded) return std::unexpected(recorded.error());
  if (*recorded) {
    for (const RowError& error : (*recorded)->bad_rows) fmt::print(stderr, "error: {}\n", describe(error));
    fmt::print(stderr, "note: {}: {}\n", file, recorded_by_kernelbench);
    std::vector<StoredVerdict> verdicts;
    for (Verdict& verdict : (*recorded)->verdicts) verdicts.push_back({std::move(verdict), {file}});
    return verdicts;
  }
  auto rows = open_rows(file, parquet_helper(""));
  if (!rows) return std::unexpected(rows.error());
  std::vector<StoredVerdict> verdicts;
  while (true) {
    auto next = (*rows)->next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return verdicts;
    if (auto* error = std::get_if<RowError>(&**next)) return fail(describe(*error));
    const Row& row = std::get<Row>(**next);
    auto verdict = verdict_from_json(row.fields);
    if (!verdict)
      return fail(fmt::format("{}, row {}: {}", file, row.number, verdict.error().what),
                  "give a file that `kernelwright verify` wrote with --output or --json");
    const bool is_line = (*rows)->rows_are_lines();
    verdicts.push_back({std::move(*verdict), {file, is_line ? row.number : 0, is_line}});
  }
}

// The verdicts with these ids, all without ids. An error if one of the ids has none.
Result<std::vector<StoredVerdict>> chosen(std::vector<StoredVerdict> verdicts,
                                          const std::vector<std::string>& ids) {
  if (ids.empty()) return verdicts;
  auto id_of = [](const StoredVerdict& stored) -> const std::string& { return stored.verdict.id; };
  for (const std::string& id : ids)
    if (std::ranges::find(verdicts, id, id_of) == verdicts.end()) {
      std::vector<std::string> known;
      for (const StoredVerdict& stored : verdicts) known.push_back(stored.verdict.id);
      const std::string near = nearest(id, known);
      return fail(fmt::format("no verdict has the id \"{}\"", visible_line(id)),
                  near.empty() ? "leave the id out to see all verdicts"
                               : fmt::format("the nearest id is {}", visible_line(near)));
    }
  std::erase_if(verdicts, [&](const StoredVerdict& stored) {
    return std::ranges::find(ids, stored.verdict.id) == ids.end();
  });
  return verdicts;
}

int explain_file(const ExplainFlags& flags) {
  auto all = read_verdicts(flags.subject);
  if (!all) return failed(all.error());
  auto verdicts = chosen(std::move(*all), flags.ids);
  if (!verdicts) return failed(verdicts.error());
  std::set<std::string> wanted;
  for (const StoredVerdict& stored : *verdicts) wanted.insert(stored.verdict.candidate_sha256);
  auto codes =
      read_judged_sources(flags.input, [&](const std::string& sha256) { return wanted.contains(sha256); });
  if (!codes) return failed(codes.error());
  VerdictOutput output(flags.table);
  std::vector<ResultRow> rows;
  for (const auto& [verdict, origin] : *verdicts) {
    const JudgedSource* code = find_source(*codes, verdict.candidate_sha256, verdict.id);
    rows.push_back(result_row(verdict, {}, Settings{}.min_trust));
    rows.back().position = rows.size() - 1;
    output.add(rows.back(), verdict,
               code ? kw::explain::Sources{code->candidate, code->reference} : kw::explain::Sources{},
               code ? kw::explain::Origins{code->candidate_origin, code->reference_origin}
                    : kw::explain::Origins{origin, origin});
  }
  if (auto printed = output.print(true); !printed) return failed(printed.error());
  if (flags.table.format == VerdictForm::table) fmt::print("{}", for_log(in_words(summarise(rows))));
  return 0;
}

}  // namespace

void ExplainFlags::add(CLI::App& app) {
  app.add_option("WORD", subject,
                 "a word of a verdict, such as compile_error or library_only; or a file of verdicts, as "
                 "verify --output writes it, or KernelBench's eval_results.json [a list of all words]");
  app.add_option("ID", ids, "only the verdicts with these ids, of a file")->expected(1, 1'000'000);
  app.add_option(
         "--input", input,
         "the input that was judged: REFERENCE KERNEL, or one file or folder; for excerpts of the source")
      ->type_name("PATH")
      ->expected(1, 2)
      ->group("Output");
  table.add(app);
}

int explain(const ExplainFlags& flags) {
  if (flags.subject.empty()) {
    fmt::print("{}", kw::explain::word_list(style_of(STDOUT_FILENO)));
    return 0;
  }
  if (auto fits = flags.table.check(); !fits) {
    complain(fits.error());
    return exit_usage;
  }
  if (is_file(flags.subject)) return explain_file(flags);
  if (flags.ids.empty() && flags.input.empty() && flags.table.format == VerdictForm::table)
    return explain_word(flags.subject);
  complain({fmt::format("{} is no file, and ids, --input and --format belong to a file of verdicts",
                        flags.subject),
            "give a file that `kernelwright verify` wrote with --output or --json"});
  return exit_usage;
}

}  // namespace kw::app
