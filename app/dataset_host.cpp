#include "dataset_host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "base/core/text.h"
#include "dataset/licence/licence.h"
#include "session.h"
#include "verify/workers/installation.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t signals = 0;
bool line_is_open = false;

void on_signal(int) {
  if (signals > 0) ::_exit(exit_interrupted);
  signals = signals + 1;
}

class ProgressLine {
 public:
  void say(const std::string& stage, std::uint64_t done, std::uint64_t of) {
    auto now = Clock::now();
    bool is_new = stage != stage_;
    auto pause = std::chrono::milliseconds(terminal_ ? 200 : 10'000);
    if (!is_new && now - last_ < pause) return;
    stage_ = stage;
    last_ = now;
    std::string text = done == 0 ? stage
                       : of == 0 ? fmt::format("{}: {}", stage, done)
                                 : fmt::format("{}: {} of {}", stage, done, of);
    if (!terminal_) {
      fmt::print(stderr, "{}\n", text);
      return;
    }
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
    line_is_open = true;
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::string stage_;
  Clock::time_point last_;
};

}  // namespace

Result<DatasetHost> dataset_host(const DatasetMachineFlags& flags, bool needs_python) {
  DatasetHost host;
  host.threads = flags.threads > 0 ? static_cast<unsigned>(flags.threads)
                                   : std::max(1U, std::thread::hardware_concurrency());
  auto installation = engine::find_installation();
  if (!installation) {
    if (needs_python) return std::unexpected(installation.error());
    return host;
  }
  host.installation = std::move(*installation);
  auto python = engine::find_python(flags.python, host.installation);
  if (!python && needs_python) return std::unexpected(python.error());
  if (python) host.python.python = python->path.string();
  for (const fs::path& folder : host.installation.python_path)
    if (auto scripts = folder / "kernelwright/_dataset"; fs::exists(scripts / "parquet_rows.py"))
      host.python.scripts = scripts;
  return host;
}

void heed_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
  return signals > 0;
}

dataset::Watch watch_of(bool quiet) {
  dataset::Watch watch;
  watch.stop = interrupted;
  if (!quiet)
    watch.progress = [line = ProgressLine()](const std::string& stage, std::uint64_t done,
                                             std::uint64_t of) mutable { line.say(stage, done, of); };
  return watch;
}

void end_progress() {
  if (line_is_open) fmt::print(stderr, "\r\x1b[K");
  line_is_open = false;
}

Result<ScratchFolder> ScratchFolder::make(const fs::path& beside) {
  std::error_code error;
  fs::path parent = beside.empty() ? fs::temp_directory_path(error) : beside;
  std::string name = (parent / ".kernelwright-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return fail(fmt::format("cannot make a folder in {}: {}", parent.string(), errno_text(errno)),
                beside.empty() ? "set TMPDIR to a folder with free space that you may write"
                               : "check its free space and permissions");
  return ScratchFolder(name);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

namespace {

namespace fs = std::filesystem;

near::Parameters near_of(const NearFlags& flags) {
  near::Parameters parameters;
  parameters.threshold = flags.threshold;
  parameters.shingle_tokens = static_cast<unsigned>(flags.shingle_tokens);
  return parameters;
}

leak::Thresholds leak_of(const LeakFlags& flags) {
  leak::Thresholds thresholds;
  thresholds.jaccard = flags.jaccard;
  if (flags.containment) thresholds.containment = *flags.containment;
  return thresholds;
}

table::ReadOptions read_of(const ColumnFlags& flags, const DatasetHost& host, const fs::path& scratch) {
  table::ReadOptions options;
  options.prompt = flags.prompt;
  options.completion = flags.completion;
  options.single_text = flags.single_text;
  options.spill = scratch;
  options.parquet = host.python.parquet();
  return options;
}

Result<dataset::LicenceRule> licence_rule(const DatasetBuildFlags& flags) {
  dataset::LicenceRule rule;
  if (flags.any_licence && !flags.licences.empty())
    return fail("--licences excludes --any-licence", "give one of them");
  rule.any = flags.any_licence;
  rule.allow = flags.licences.empty() ? licence::permissive() : flags.licences;
  for (const std::string& text : flags.stated) {
    std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      return fail(fmt::format("--licence-of {}: SOURCE=ID is expected", text), "as in flag-gems=Apache-2.0");
    std::string id = text.substr(equals + 1);
    auto spdx = licence::known_expression(id);
    if (!spdx)
      return fail(fmt::format("--licence-of {}: {} is no known SPDX identifier", text, id),
                  "as in MIT or Apache-2.0; LicenseRef-NAME for any other licence");
    rule.stated[text.substr(0, equals)] = std::move(*spdx);
  }
  return rule;
}

labels::CompileOptions compile_options(const DatasetBuildFlags& flags, const DatasetHost& host,
                                       const fs::path& state) {
  labels::CompileOptions options;
  options.python = host.python.python;
  for (const fs::path& folder : host.installation.python_path) options.python_path.push_back(folder.string());
  options.native = host.installation.native.string();
  options.targets = flags.targets;
  options.jobs = flags.jobs > 0 ? static_cast<unsigned>(flags.jobs) : host.threads;
  options.allow_unsandboxed = flags.allow_unsandboxed;
  options.nvcc = flags.nvcc;
  options.cache = state / "labels.jsonl";
  return options;
}

std::string hardware_words(const dataset::BuildSettings& settings) {
  std::string words;
  for (corpus::Target target : settings.hardware)
    words += (words.empty() ? "" : " ") + std::string(to_string(target));
  return words;
}

std::set<corpus::Target> hardware_of(const std::vector<std::string>& words) {
  const bool all = std::ranges::find(words, "all") != words.end();
  std::set<corpus::Target> targets;
  for (std::string_view word : enum_words<corpus::Target>)
    if (all || std::ranges::find(words, word) != words.end())
      targets.insert(*from_string<corpus::Target>(word));
  return targets;
}

boost::json::object parameters_of(const dataset::BuildSettings& settings) {
  const near::Parameters& near = settings.near;
  return {{"near_duplicates",
           {{"threshold", near.threshold},
            {"shingle_tokens", near.shingle_tokens},
            {"bands", near.bands},
            {"rows_a_band", near.rows},
            {"seed", near.seed}}},
          {"leakage",
           {{"jaccard", settings.leak.jaccard},
            {"containment", settings.leak.containment},
            {"window_tokens", settings.leak.window_tokens},
            {"least_windows", settings.leak.least_windows},
            {"held", settings.hold_flagged}}},
          {"holes",
           {{"a_kind", settings.fim.blocks},
            {"shortest_completion", settings.fim.shortest_completion},
            {"max_tokens", settings.fim.max_tokens},
            {"equal_completions", settings.most_equal_completions},
            {"body", to_string(settings.fim.body)},
            {"rendering", to_string(settings.fim.rendering)},
            {"cuda", settings.cuda_fim},
            {"seed", settings.seed}}},
          {"hardware", hardware_words(settings)},
          {"pairs", {{"least_confidence", settings.match.least_confidence}}},
          {"split", {{"validation_share", settings.validation_share}}}};
}

// Without paths and numbers of threads, which do not change the rows.
std::string made_by(const DatasetBuildFlags& flags, const dataset::BuildSettings& settings) {
  return fmt::format(
      "kernelwright dataset build --fim {} --body {} --max-tokens {} --shortest-completion {} "
      "--equal-completions {} --hardware {} --holes {} --near-threshold {} --validation {} --seed {}{}{}{}",
      to_string(flags.fim), to_string(flags.body), flags.max_tokens, flags.shortest_completion,
      flags.equal_completions, hardware_words(settings), flags.holes, flags.near.threshold,
      flags.validation_share, flags.seed, settings.licences.any ? " --any-licence" : "",
      flags.compile ? "" : " --no-compile", flags.hold_flagged ? " --hold-flagged" : "");
}

}  // namespace

Result<dataset::BuildSettings> build_settings(const DatasetBuildFlags& flags, const DatasetHost& host) {
  dataset::BuildSettings settings;
  auto rule = licence_rule(flags);
  if (!rule) return std::unexpected(rule.error());
  settings.licences = std::move(*rule);
  settings.sources = flags.sources;
  settings.packages = flags.packages;
  settings.package_form = flags.package_form;
  settings.repositories = flags.repositories;
  settings.pairs = flags.pairs;
  settings.against = flags.leak.against;
  settings.out = flags.out;
  settings.state = flags.state.empty() ? settings.out / ".state" : fs::path(flags.state);
  settings.review = flags.review.empty() ? settings.out / "review.csv" : fs::path(flags.review);
  settings.add = flags.add_to;
  settings.hold_flagged = flags.hold_flagged;
  settings.cuda_fim = flags.cuda_fim;
  settings.compile = flags.compile;
  settings.count_tokens = flags.tokens;
  settings.figures = flags.figures;
  settings.tokenizer = flags.tokenizer;
  settings.push_to = flags.push_to_hub;
  settings.push_private = flags.is_private;
  settings.validation_share = flags.validation_share;
  settings.seed = flags.seed;
  settings.threads = host.threads;
  settings.memory_bytes = flags.machine.memory_bytes;
  if (flags.largest_file_bytes) settings.limits.file_bytes = *flags.largest_file_bytes;
  settings.near = near_of(flags.near);
  settings.leak = leak_of(flags.leak);
  settings.fim.rendering = flags.fim;
  settings.fim.body = flags.body;
  settings.fim.max_tokens = flags.max_tokens;
  settings.fim.shortest_completion = flags.shortest_completion;
  settings.most_equal_completions = flags.equal_completions;
  if (!flags.hardware.empty()) settings.hardware = hardware_of(flags.hardware);
  settings.fim.blocks = settings.fim.expressions = settings.fim.calls = static_cast<unsigned>(flags.holes);
  settings.fim.seed = flags.seed;
  settings.match.least_confidence = flags.least_confidence;
  settings.labels = compile_options(flags, host, settings.state);
  settings.python = host.python;
  settings.program = kw_version;
  settings.parameters = parameters_of(settings);
  settings.made_by = made_by(flags, settings);
  return settings;
}

dataset::DedupSettings dedup_settings(const DatasetDedupFlags& flags, const DatasetHost& host,
                                      const fs::path& scratch) {
  dataset::DedupSettings settings;
  settings.files = flags.files;
  settings.against = flags.against;
  settings.out = flags.out;
  settings.evidence = flags.out + ".duplicates.jsonl";
  settings.index = flags.index;
  settings.spill = scratch;
  settings.keep = flags.keep;
  settings.near_too = !flags.exact_only;
  settings.threads = host.threads;
  settings.memory_bytes = flags.machine.memory_bytes;
  settings.near = near_of(flags.near);
  settings.read = read_of(flags.columns, host, scratch);
  settings.python = host.python;
  return settings;
}

dataset::AuditSettings audit_settings(const DatasetAuditFlags& flags, const DatasetHost& host,
                                      const fs::path& scratch) {
  dataset::AuditSettings settings;
  settings.files = flags.files;
  settings.validation = flags.validation;
  settings.against = flags.leak.against;
  settings.out = flags.out;
  settings.between_rows = flags.between_rows;
  settings.threads = host.threads;
  settings.memory_bytes = flags.machine.memory_bytes;
  settings.leak = leak_of(flags.leak);
  settings.read = read_of(flags.columns, host, scratch);
  settings.spill = scratch;
  return settings;
}

dataset::ExportSettings export_settings(const DatasetExportFlags& flags, const DatasetHost& host,
                                        const fs::path& scratch) {
  dataset::ExportSettings settings;
  settings.source = flags.source;
  settings.out = flags.out;
  settings.kinds = flags.kinds;
  settings.split = flags.split;
  settings.labels = flags.labels;
  settings.metadata = flags.metadata;
  settings.messages = flags.messages;
  settings.without_flags = flags.unflagged;
  settings.leave_out = flags.review.leave_out;
  settings.read = read_of(flags.columns, host, scratch);
  settings.spill = scratch;
  settings.python = host.python;
  return settings;
}

}  // namespace kw::app
