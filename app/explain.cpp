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

Result<std::vector<Verdict>> read_verdicts(const std::string& file) {
  auto recorded = read_kernelbench_results(file);
  if (!recorded) return std::unexpected(recorded.error());
  if (*recorded) {
    for (const RowError& error : (*recorded)->bad_rows) fmt::print(stderr, "error: {}\n", describe(error));
    fmt::print(stderr, "note: {}: {}\n", file, recorded_by_kernelbench);
    return std::move((*recorded)->verdicts);
  }
  auto rows = open_rows(file, parquet_helper(""));
  if (!rows) return std::unexpected(rows.error());
  std::vector<Verdict> verdicts;
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
    verdicts.push_back(std::move(*verdict));
  }
}

// The verdicts with these ids, all without ids. An error if one of the ids has none.
Result<std::vector<Verdict>> chosen(std::vector<Verdict> verdicts, const std::vector<std::string>& ids) {
  if (ids.empty()) return verdicts;
  for (const std::string& id : ids)
    if (std::ranges::find(verdicts, id, &Verdict::id) == verdicts.end()) {
      std::vector<std::string> known;
      for (const Verdict& verdict : verdicts) known.push_back(verdict.id);
      const std::string near = nearest(id, known);
      return fail(fmt::format("no verdict has the id \"{}\"", visible_line(id)),
                  near.empty() ? "leave the id out to see all verdicts"
                               : fmt::format("the nearest id is {}", visible_line(near)));
    }
  std::erase_if(verdicts,
                [&](const Verdict& verdict) { return std::ranges::find(ids, verdict.id) == ids.end(); });
  return verdicts;
}

int explain_file(const ExplainFlags& flags) {
  auto all = read_verdicts(flags.subject);
  if (!all) return failed(all.error());
  auto verdicts = chosen(std::move(*all), flags.ids);
  if (!verdicts) return failed(verdicts.error());
  std::set<std::string> wanted;
  for (const Verdict& verdict : *verdicts) wanted.insert(verdict.candidate_sha256);
  auto codes =
      read_judged_sources(flags.input, [&](const std::string& sha256) { return wanted.contains(sha256); });
  if (!codes) return failed(codes.error());
  ResultView view({style_of(STDOUT_FILENO), flags.table.only, flags.table.show_output});
  std::vector<ResultRow> rows;
  for (const Verdict& verdict : *verdicts) {
    auto code = codes->find(verdict.candidate_sha256);
    rows.push_back(result_row(verdict, {}, Settings{}.min_trust));
    view.add(rows.back(), verdict,
             code == codes->end() ? kw::explain::Sources{}
                                  : kw::explain::Sources{code->second.candidate, code->second.reference});
  }
  fmt::print("{}{}", view.text(), in_words(summarise(rows)));
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
  if (is_file(flags.subject)) return explain_file(flags);
  if (flags.ids.empty() && flags.input.empty()) return explain_word(flags.subject);
  complain({fmt::format("{} is no file, and ids and --input belong to a file of verdicts", flags.subject),
            "give a file that `kernelwright verify` wrote with --output or --json"});
  return exit_usage;
}

}  // namespace kw::app
