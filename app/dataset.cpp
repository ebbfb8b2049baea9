#include "dataset.h"

#include <fmt/format.h>

#include "dataset_host.h"
#include "dataset_report.h"
#include "dataset_settings.h"
#include "session.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

int failed(const Error& error) {
  end_progress();
  if (interrupted()) {
    fmt::print(stderr,
               "interrupted: nothing was changed in place; the same command goes on from what is kept\n");
    return exit_interrupted;
  }
  complain(error);
  return exit_failure;
}

bool is_parquet(const std::string& path) {
  return fs::path(path).extension() == ".parquet";
}

bool any_parquet(const std::vector<std::string>& paths) {
  return std::ranges::any_of(paths, is_parquet);
}

// Big files spill beside what is written, where there is room for it.
Result<ScratchFolder> scratch_beside(const std::string& out) {
  fs::path parent = out.empty() ? fs::path() : fs::absolute(out).parent_path();
  if (!parent.empty()) {
    std::error_code error;
    fs::create_directories(parent, error);
  }
  return ScratchFolder::make(parent);
}

int build(const DatasetBuildFlags& flags) {
  auto host = dataset_host(flags.machine, true);
  if (!host) return failed(host.error());
  auto settings = build_settings(flags, *host);
  if (!settings) {
    complain(settings.error());
    return exit_usage;
  }
  auto facts = dataset::build(*settings, watch_of(flags.machine.quiet));
  if (!facts) return failed(facts.error());
  end_progress();
  if (!flags.machine.quiet) report(*facts, settings->out);
  return 0;
}

int dedup(const DatasetDedupFlags& flags) {
  bool parquet = is_parquet(flags.out) || any_parquet(flags.files) || any_parquet(flags.against);
  auto host = dataset_host(flags.machine, parquet);
  if (!host) return failed(host.error());
  auto scratch = scratch_beside(flags.out);
  if (!scratch) return failed(scratch.error());
  auto settings = dedup_settings(flags, *host, scratch->path());
  auto tally = dataset::dedup(settings, watch_of(flags.machine.quiet));
  if (!tally) return failed(tally.error());
  end_progress();
  if (!flags.machine.quiet) report(*tally, settings);
  return 0;
}

int audit(const DatasetAuditFlags& flags) {
  auto host = dataset_host(flags.machine, any_parquet(flags.files) || any_parquet(flags.leak.against));
  if (!host) return failed(host.error());
  auto scratch = scratch_beside(flags.out);
  if (!scratch) return failed(scratch.error());
  auto settings = audit_settings(flags, *host, scratch->path());
  auto tally = dataset::audit(settings, watch_of(flags.machine.quiet));
  if (!tally) return failed(tally.error());
  end_progress();
  if (!flags.machine.quiet) report(*tally, settings);
  auto leaked = tally->relations.find("benchmark");
  return flags.fail_on_leak && leaked != tally->relations.end() ? exit_failure : 0;
}

int export_rows(const DatasetExportFlags& flags) {
  auto host = dataset_host(flags.machine, is_parquet(flags.out) || is_parquet(flags.source));
  if (!host) return failed(host.error());
  auto scratch = scratch_beside(flags.out);
  if (!scratch) return failed(scratch.error());
  auto settings = export_settings(flags, *host, scratch->path());
  auto tally = dataset::export_rows(settings);
  if (!tally) return failed(tally.error());
  if (!flags.machine.quiet)
    fmt::print("{} of {} rows written to {}\n", tally->written, tally->rows, flags.out);
  if (tally->bad_rows > 0) fmt::print(stderr, "warning: {} rows could not be read\n", tally->bad_rows);
  return 0;
}

}  // namespace

void DatasetFlags::add(CLI::App& app) {
  app.require_subcommand(1);
  build.add(*app.add_subcommand("build", "Package trees, checkouts and runs into a training set"));
  dedup.add(*app.add_subcommand("dedup", "Files of rows without exact and near duplicates"));
  audit.add(*app.add_subcommand("audit", "Rows that resemble a benchmark, each other, or themselves"));
  export_rows.add(*app.add_subcommand("export", "Rows of a build, or of a file, in another form"));
}

int dataset(const DatasetFlags& flags, const CLI::App& verb) {
  heed_interrupts();
  if (verb.got_subcommand("build")) return build(flags.build);
  if (verb.got_subcommand("dedup")) return dedup(flags.dedup);
  if (verb.got_subcommand("audit")) return audit(flags.audit);
  return export_rows(flags.export_rows);
}

}  // namespace kw::app
