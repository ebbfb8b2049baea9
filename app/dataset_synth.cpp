#include "dataset_synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/json/object.hpp>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

#include "base/async/workbench.h"
#include "base/core/counted.h"
#include "base/core/display.h"
#include "base/core/json.h"
#include "dataset/licence/licence.h"
#include "dataset/synth/drafting.h"
#include "dataset/synth/mined.h"
#include "dataset/synth/named.h"
#include "dataset/synth/synth_folder.h"
#include "dataset_host.h"
#include "pipeline.h"
#include "session.h"
#include "verifier_source.h"

namespace kw::app {
namespace {

namespace json = boost::json;
using SynthClock = std::chrono::steady_clock;

// Drafts are made for so many sources at a time, then judged: an interruption loses at most their drafts.
constexpr std::uint64_t sources_at_a_time = 256;
constexpr std::uint64_t sources_drawn = 100;
constexpr std::size_t reasons_shown = 5;
constexpr const char* licence_of_references = "Apache-2.0";
constexpr const char* licence_of_kernels = "BSD-3-Clause";  // the compiler's, PyTorch's
constexpr std::string_view cuda_suffix = ".cuda";           // of the id of a CUDA side's job

Job job_of(const synth::Draft& draft, std::uint64_t seed) {
  Job job;
  job.id = synth::id_of(seed, draft);
  job.task.task_id = hashed_task_id(draft.reference, "", draft.name);
  job.task.source = "synth";
  job.task.name = draft.name;
  job.task.reference_code = draft.reference;
  job.task.entry_point = draft.name;
  job.candidate.code = draft.kernel;
  return job;
}

Job cuda_job_of(const synth::Draft& draft, std::uint64_t seed) {
  Job job = job_of(draft, seed);
  job.id += cuda_suffix;
  job.candidate.code = draft.cuda_candidate;
  return job;
}

// The verdicts of a pair, as they arrive.
struct Sides {
  const synth::Draft* draft = nullptr;
  std::optional<Verdict> triton;
  std::optional<Verdict> cuda;

  bool complete() const { return triton && (cuda || draft->cuda_candidate.empty()); }
};

json::object short_verdict(const Verdict& verdict) {
  json::object object{{"status", to_string(verdict.status)},
                      {"correctness", value_or_null(correctness(verdict))},
                      {"counts", value_or_null(verdict.counts)},
                      {"speedup", value_or_null(verdict.speedup)},
                      {"trust", nullptr},
                      {"reason", nullptr},
                      {"shapes", nullptr},
                      {"error", value_or_null(verdict.error)}};
  if (verdict.trust) object["trust"] = to_string(*verdict.trust);
  if (verdict.error_class) object["reason"] = to_string(*verdict.error_class);
  if (verdict.counts_reason) object["reason"] = to_string(*verdict.counts_reason);
  if (verdict.generality && verdict.generality->shapes)
    object["shapes"] = to_string(*verdict.generality->shapes);
  return object;
}

bool is_infrastructure_fault(const Verdict& verdict) {
  return verdict.status == Status::error && verdict.fault == Fault::infrastructure;
}

// Without a GPU the verifier skips a CUDA side, which is no fault of the pair.
bool passed(const Sides& sides) {
  return correct_and_counts(*sides.triton) &&
         (!sides.cuda || sides.cuda->status == Status::skipped || correct_and_counts(*sides.cuda));
}

void add_cuda_side(json::object& line, const synth::Draft& draft, const std::optional<Verdict>& verdict) {
  if (draft.cuda_licence.empty()) {
    line["triton_licence"] = licence_of_references;  // both kernels are this program's own text
    line["origin"] = "synthetic";
  } else {
    line["licence"] = draft.cuda_licence;
  }
  line["cuda_code"] = draft.cuda;
  line["cuda_candidate"] = draft.cuda_candidate;
  line["cuda_verified"] = verdict && correct_and_counts(*verdict);
  if (verdict)
    line["cuda_verdict"] = short_verdict(*verdict);
  else
    line["cuda_verdict"] = nullptr;
}

json::object line_of(const Sides& sides, std::uint64_t seed) {
  const synth::Draft& draft = *sides.draft;
  json::object line{{"id", synth::id_of(seed, draft)},
                    {"number", draft.number},
                    {"family", draft.family},
                    {"name", draft.name},
                    {"entry_point", draft.name},
                    {"licence", licence_of_references},
                    {"triton_licence", licence_of_kernels},
                    {"reference_code", draft.reference},
                    {"kernel_code", draft.kernel},
                    {"verdict", short_verdict(*sides.triton)}};
  if (!draft.licence.empty()) line["triton_licence"] = draft.licence;
  if (!draft.origin.empty()) line["origin"] = draft.origin;
  synth::add_sources(line, draft);
  if (!draft.cuda.empty()) add_cuda_side(line, draft, sides.cuda);
  return line;
}

class Synth {
 public:
  Synth(Session& session, const DatasetSynthFlags& flags, synth::SynthFolder& folder, EvaluatorPlan plan,
        std::vector<synth::Draft> named)
      : session_(session),
        flags_(flags),
        folder_(folder),
        plan_(std::move(plan)),
        named_(std::move(named)),
        count_(synth::takes_kernels(flags.source)
                   ? std::min<std::uint64_t>(flags.count.value_or(named_.size()), named_.size())
                   : flags.count.value_or(sources_drawn)),
        watch_(watch_of(flags.quiet)) {}

  async::Task<int> run(PythonChild python) {
    async::spawn(session_.loop, note_stop(this));
    Result<> ended;
    while (ended && !session_.stop.requested()) {
      ended = co_await draft(&python);
      std::vector<synth::Draft> open = folder_.take_open();
      if (!ended || session_.stop.requested() || open.empty()) {
        if (folder_.next_number() >= count_) break;
        continue;
      }
      ended = co_await judge(std::move(open));
    }
    bench_.close();
    if (verifier_) co_await verifier_->end();
    end_progress();
    if (ended || session_.interrupted()) co_return unjudged_ > 0 ? exit_failure : 0;
    complain(ended.error());
    co_return exit_failure;
  }

  std::uint64_t judged() const { return judged_; }
  std::uint64_t count() const { return count_; }
  // Kernels of --from that --count leaves out.
  std::uint64_t left() const { return named_.size() - std::min<std::uint64_t>(count_, named_.size()); }
  std::uint64_t unjudged() const { return unjudged_; }

 private:
  static async::Task<> note_stop(Synth* synth) {
    co_await synth->session_.stop.wait();
    synth->stopping_ = true;
  }

  async::Task<Result<>> draft(const PythonChild* python) {
    const std::uint64_t first = folder_.next_number();
    if (first >= count_) co_return Result<>();
    if (synth::takes_kernels(flags_.source)) {
      const auto begin = named_.begin() + static_cast<std::ptrdiff_t>(first);
      co_return folder_.add(
          std::vector<synth::Draft>(begin, named_.begin() + static_cast<std::ptrdiff_t>(count_)));
    }
    std::vector<std::uint64_t> numbers(std::min(sources_at_a_time, count_ - first));
    std::iota(numbers.begin(), numbers.end(), first);
    synth::DraftOptions options = draft_options(*python);
    auto drafts = co_await bench_.result_of<Result<std::vector<synth::Draft>>>(
        [&numbers, &options] { return synth::make_drafts(numbers, options); });
    if (!drafts) co_return std::unexpected(drafts.error());
    co_return folder_.add(*drafts);
  }

  synth::DraftOptions draft_options(const PythonChild& python) {
    synth::DraftOptions options;
    options.python = python.program;
    for (const auto& folder : python.installation.python_path) options.python_path.push_back(folder.string());
    options.native = python.installation.native.string();
    options.jobs = static_cast<unsigned>(
        flags_.settings.jobs > 0 ? flags_.settings.jobs : std::max(1U, std::thread::hardware_concurrency()));
    options.allow_unsandboxed = flags_.settings.allow_unsandboxed;
    options.source = flags_.source;
    options.seed = flags_.seed;
    options.families = flags_.families;
    options.stop = [this] { return stopping_.load(); };
    if (watch_.progress)
      options.progress = [this, first = folder_.next_number()](std::size_t done, std::size_t) {
        watch_.progress("compile", first + done, count_);
      };
    return options;
  }

  async::Task<Result<>> judge(std::vector<synth::Draft> open) {
    if (!verifier_) {
      auto verifier = co_await VerifierSource::start(session_.loop, session_.stop, plan_,
                                                     [](const std::string& line) { say(line); });
      if (!verifier) co_return std::unexpected(verifier.error());
      verifier_ = std::move(*verifier);
    }
    std::map<std::string, Sides> by_id;
    std::vector<JobOrError> jobs;
    for (const synth::Draft& draft : open) {
      jobs.emplace_back(job_of(draft, flags_.seed));
      if (!draft.cuda_candidate.empty()) jobs.emplace_back(cuda_job_of(draft, flags_.seed));
      by_id[synth::id_of(flags_.seed, draft)].draft = &draft;
    }
    const std::size_t all = open.size();
    std::size_t done = 0;
    PipelineHooks hooks{.judged = [&](const Job& job, const Verdict& verdict) -> Result<> {
                          const bool cuda = job.id.ends_with(cuda_suffix);
                          const std::string id =
                              cuda ? job.id.substr(0, job.id.size() - cuda_suffix.size()) : job.id;
                          Sides& sides = by_id.at(id);
                          (cuda ? sides.cuda : sides.triton) = verdict;
                          if (!sides.complete()) return Result<>();
                          if (watch_.progress) watch_.progress("judge", ++done, all);
                          return keep(sides);
                        },
                        .bad_row = [](const RowError&) {},
                        .done_before = [](const Job&, const std::string&) -> Result<bool> { return false; },
                        .known = [](const std::string&) -> std::optional<Verdict> { return std::nullopt; }};
    Pipeline pipeline(session_.loop, session_.stop, verifier_->verifier(), std::move(hooks));
    SourcePtr source = job_list(std::move(jobs));
    co_return co_await pipeline.run(*source);
  }

  static void say(const std::string& line) {
    end_progress();
    fmt::print(stderr, "{}\n", for_log(line));
  }

  // A fault of the infrastructure is no verdict: the next run judges the pair again.
  Result<> keep(const Sides& sides) {
    for (const std::optional<Verdict>* verdict : {&sides.triton, &sides.cuda}) {
      if (!*verdict || !is_infrastructure_fault(**verdict)) continue;
      if (++unjudged_ == 1)
        say(fmt::format("error: {}", (*verdict)->error.value_or("a pair got no verdict")));
      return {};
    }
    ++judged_;
    auto outcome = passed(sides) ? synth::Outcome::verified : synth::Outcome::repair;
    return folder_.add(*sides.draft, outcome, line_of(sides, flags_.seed));
  }

  Session& session_;
  const DatasetSynthFlags& flags_;
  synth::SynthFolder& folder_;
  EvaluatorPlan plan_;
  std::vector<synth::Draft> named_;  // all of them, of --source named and mined
  std::uint64_t count_;
  dataset::Watch watch_;
  async::Workbench bench_;
  std::unique_ptr<VerifierSource> verifier_;
  std::atomic<bool> stopping_ = false;
  std::uint64_t judged_ = 0;
  std::uint64_t unjudged_ = 0;
};

Result<> check_families(synth::Source source, const std::vector<std::string>& families) {
  const std::vector<std::string>& known = synth::families_of(source);
  for (const std::string& family : families)
    if (std::ranges::find(known, family) == known.end())
      return fail(fmt::format("--source {} has no family {}", to_string(source), family),
                  fmt::format("its families: {}", fmt::join(known, ", ")));
  return {};
}

// The most frequent first.
std::vector<std::pair<std::uint64_t, std::string>> ranked(
    const std::map<std::string, std::uint64_t>& reasons) {
  std::vector<std::pair<std::uint64_t, std::string>> list;
  for (const auto& [reason, count] : reasons) list.emplace_back(count, reason);
  std::ranges::sort(list, std::greater());
  return list;
}

void print_reasons(const std::map<std::string, std::uint64_t>& reasons, const std::string& out) {
  std::size_t shown = 0;
  std::uint64_t others = 0;
  for (const auto& [count, reason] : ranked(reasons)) {
    if (shown++ < reasons_shown)
      fmt::print("without a kernel  {}: {}\n", count, for_log(reason));
    else
      others += count;
  }
  if (others > 0) fmt::print("                  and {} more in {}/drafts.jsonl\n", others, out);
}

void print_yields(const synth::SynthFolder& folder, const Synth& synth, const DatasetSynthFlags& flags,
                  const std::vector<std::string>& sources, double seconds) {
  synth::Yield all;
  fmt::print("{:<17} {:>8} {:>9} {:>10} {:>11} {:>9} {:>7}\n", "family", "sources", "compiled", "rewritten",
             "duplicates", "verified", "repair");
  auto print = [](const std::string& name, const synth::Yield& yield) {
    fmt::print("{:<17} {:>8} {:>9} {:>10} {:>11} {:>9} {:>7}\n", name, yield.sources, yield.compiled,
               yield.rewritten, yield.duplicates, yield.verified, yield.repair);
  };
  for (const auto& [family, yield] : folder.yields()) {
    print(family, yield);
    all.sources += yield.sources;
    all.compiled += yield.compiled;
    all.rewritten += yield.rewritten;
    all.duplicates += yield.duplicates;
    all.verified += yield.verified;
    all.repair += yield.repair;
    all.cuda_verified += yield.cuda_verified;
  }
  print("all", all);
  if (flags.source == synth::Source::cuda || flags.source == synth::Source::mined)
    fmt::print("CUDA side         {} of {} pairs verified on a GPU\n", all.cuda_verified, all.verified);
  if (!sources.empty())
    fmt::print("taken from        {}\n", for_log(fmt::format("{}", fmt::join(sources, ", "))));
  if (synth.left() > 0)
    fmt::print("left for later    {} of {}, over --count\n", synth.left(), synth.left() + synth.count());
  print_reasons(folder.reasons(), flags.out);
  if (synth.judged() > 0)
    fmt::print("judged now        {} in {:.0f} s, {:.0f} a minute\n", synth.judged(), seconds,
               static_cast<double>(synth.judged()) * 60 / std::max(seconds, 1e-3));
  fmt::print("pairs             {0}/pairs.jsonl\nrepair            {0}/repair.jsonl\n", flags.out);
}

}  // namespace

namespace {

Result<synth::NamedDrafts> named_drafts_of(const DatasetSynthFlags& flags) {
  if (flags.source == synth::Source::mined)
    return synth::read_mined({.paths = flags.from,
                              .manifest = flags.manifest,
                              .families = flags.families,
                              .licences = licence::permissive()});
  if (flags.source != synth::Source::named) return {};
  return synth::read_named({.paths = flags.from,
                            .families = flags.families,
                            .licences = licence::permissive(),
                            .seed = flags.seed});
}

// Why none of the sources has a kernel: the reasons with the numbers of their drafts, the most frequent
// first.
std::string reasons_of(const std::vector<synth::Draft>& drafts) {
  std::map<std::string, std::uint64_t> counts;
  for (const synth::Draft& draft : drafts) ++counts[draft.reason];
  std::vector<std::string> parts;
  for (const auto& [count, reason] : ranked(counts))
    if (parts.size() < reasons_shown) parts.push_back(fmt::format("{} ({})", for_log(reason), count));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Result<> check_any_kernel(synth::Source source, const synth::NamedDrafts& named) {
  if (!synth::takes_kernels(source) ||
      std::ranges::any_of(named.drafts, [](const synth::Draft& draft) { return !draft.kernel.empty(); }))
    return {};
  const std::string from = for_log(fmt::format("{}", fmt::join(named.sources, ", ")));
  if (!named.drafts.empty())
    return fail(fmt::format("no kernel of {} can be taken: {}", from, reasons_of(named.drafts)),
                "give other sources with --from");
  return source == synth::Source::named
             ? fail(fmt::format("no kernel of {} has the name of an operation of PyTorch", from),
                    "give other sources with --from, or leave out --families")
             : fail("the manifest has no pair of these families", "leave out --families");
}

Result<> check_from(const DatasetSynthFlags& flags) {
  if (!flags.manifest.empty() && flags.source != synth::Source::mined)
    return fail("--manifest is for --source mined", "add --source mined, or leave out --manifest");
  const bool takes = synth::takes_kernels(flags.source);
  if (takes == !flags.from.empty()) return {};
  return takes ? fail(fmt::format("--source {} needs kernels", to_string(flags.source)),
                      "name a package or a folder with --from")
               : fail("--from is for --source named and mined",
                      "add --source named or --source mined, or leave out --from");
}

}  // namespace

int dataset_synth(const DatasetSynthFlags& flags) {
  if (auto from = check_from(flags); !from) {
    complain(from.error());
    return exit_usage;
  }
  if (auto known = check_families(flags.source, flags.families); !known) {
    complain(known.error());
    return exit_usage;
  }
  synth::SynthSettings settings{
      .source = flags.source, .seed = flags.seed, .families = flags.families, .near = {}, .sources = {}};
  std::ranges::sort(settings.families);
  settings.near.threshold = flags.near.threshold;
  settings.near.shingle_tokens = static_cast<unsigned>(flags.near.shingle_tokens);
  auto named = named_drafts_of(flags);
  if (!named) return failed(named.error());
  if (auto any = check_any_kernel(flags.source, *named); !any) return failed(any.error());
  settings.sources = std::move(named->identities);
  auto folder = synth::SynthFolder::open(flags.out, settings);
  if (!folder) return failed(folder.error());
  auto plan = plan_evaluator({}, flags.settings, {});
  if (!plan) return failed(plan.error());
  auto python = python_child(flags.settings.python);
  if (!python) return failed(python.error());
  if (auto owner = own_processes(); !owner) return failed(owner.error());
  const auto begin = SynthClock::now();
  Session session;
  Synth synth(session, flags, *folder, std::move(*plan), std::move(named->drafts));
  int status = session.run([&] { return synth.run(std::move(*python)); }, [] {});
  const double seconds = std::chrono::duration<double>(SynthClock::now() - begin).count();
  if (!flags.quiet) print_yields(*folder, synth, flags, named->sources, seconds);
  if (synth.unjudged() > 0)
    fmt::print(stderr, "{} no verdict; the same command judges again\n",
               counted(synth.unjudged(), "pair got", "pairs got"));
  if (status == exit_interrupted)
    fmt::print(stderr, "interrupted; {} keeps what is done, and the same command goes on\n", flags.out);
  return status;
}

}  // namespace kw::app
