#include "score/checks/idioms.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "score/checks/idiom_parts.h"
#include "score/checks/idiom_proofs.h"

namespace kw::score {
namespace {

// Honest answers have a few kilobytes; longer ones are not examined.
constexpr std::size_t longest_examined = std::size_t{512} << 10;

// The reached kernels and the device functions that they call, directly or indirectly.
std::set<std::string> with_called(const std::vector<KernelFacts>& kernels,
                                  const std::set<std::string>& reached) {
  std::multimap<std::string_view, const KernelFacts*> by_name;
  for (const KernelFacts& kernel : kernels) by_name.emplace(kernel.kernel.name, &kernel);
  std::set<std::string> found;
  std::vector<std::string> open(reached.begin(), reached.end());
  while (!open.empty()) {
    std::string name = std::move(open.back());
    open.pop_back();
    if (!found.insert(name).second) continue;
    auto [begin, end] = by_name.equal_range(name);
    for (auto at = begin; at != end; ++at)
      open.insert(open.end(), at->second->calls.begin(), at->second->calls.end());
  }
  return found;
}

// Whether every store of the reached kernels is known: they call no other function that may store.
bool knows_all_stores(const std::vector<KernelFacts>& kernels) {
  std::set<std::string> names;
  for (const KernelFacts& kernel : kernels) names.insert(kernel.kernel.name);
  return std::ranges::all_of(kernels, [&](const KernelFacts& kernel) {
    return !kernel.kernel.is_reached ||
           (!kernel.calls_unknown &&
            std::ranges::all_of(kernel.calls, [&](const std::string& name) { return names.contains(name); }));
  });
}

std::pair<std::size_t, std::string_view> place(const StaticFinding& finding) {
  return {finding.line, finding.what};
}

class Examination {
 public:
  Examination(std::string_view source, const IdiomOptions& options) : source_(source), options_(options) {}

  Idioms run() {
    if (source_.size() > longest_examined) {
      return not_examined("the source is too long to be examined");
    }
    StaticReport report = examine(source_);
    take(report);
    syntax::Tree tree(source_);
    if (tree.is_null()) {
      result_.parses = false;
      return not_examined("it takes too long to parse");
    }
    Aliases aliases = syntax::find_aliases(tree.root());
    kernels_ = find_kernels(tree.root(), aliases);
    host_ = look_at_host(tree.root(), aliases, kernels_, options_.entry);
    mark_reached();
    look_at_accesses(tree.root(), aliases);
    sum_up();
    judge(report);
    write_findings();
    return std::move(result_);
  }

 private:
  Idioms not_examined(const char* why) {
    result_.why_not_good = why;
    result_.state = CheckState::unproven;
    result_.checks = {{Check::parses, CheckState::unproven, {{why, 0}}}};
    return std::move(result_);
  }

  void take(StaticReport& report) {
    result_.parses = !report.has_error;
    result_.error_line = report.error_line;
    result_.native_code = report.native_code;
    result_.forbidden = std::move(report.forbidden);
    result_.findings = std::move(report.findings);
    for (StaticFinding& finding : report.torch_on_values) result_.findings.push_back(std::move(finding));
  }

  void mark_reached() {
    std::set<std::string> reached = host_.reached;
    // The launches of a part, or of a source without host code, are unknown.
    if (!options_.is_whole_answer)
      for (const KernelFacts& kernel : kernels_) reached.insert(kernel.kernel.name);
    reached = with_called(kernels_, reached);
    for (KernelFacts& kernel : kernels_) {
      kernel.kernel.is_reached = reached.contains(kernel.kernel.name);
      kernel.kernel.launches = host_.launches[kernel.kernel.name];
    }
  }

  void look_at_accesses(Node root, const Aliases& aliases) {
    Proofs proofs(root, aliases, host_);
    for (KernelFacts& facts : kernels_) facts.kernel.doubts = unproven_accesses(facts, aliases, proofs);
  }

  void sum_up() {
    std::size_t stores = 0;
    std::size_t masked = 0;
    for (const KernelFacts& facts : kernels_) {
      const JitKernel& kernel = facts.kernel;
      result_.has_jit = true;
      result_.is_launched = result_.is_launched || host_.reached.contains(kernel.name);
      result_.loads = result_.loads || kernel.loads > 0;
      result_.masked_loads = result_.masked_loads || kernel.masked_loads > 0;
      result_.boundary_checks =
          result_.boundary_checks || kernel.labels.masked_loads || kernel.labels.boundary_check;
      result_.constexpr_blocks = result_.constexpr_blocks || kernel.constexpr_parameters > 0;
      stores += kernel.stores;
      masked += kernel.masked_stores;
      result_.kernels.push_back(kernel);
    }
    result_.stores = stores > 0;
    result_.masked_stores = stores > 0 && masked == stores;
    result_.torch_work = std::move(host_.torch_work);
    std::ranges::sort(result_.torch_work, {}, place);
  }

  // Without a line, the reason is read where PyTorch does the work, or where the first kernel is.
  void disguised(Disguise disguise, std::string why, std::size_t line = 0) {
    if (result_.disguise != Disguise::none) return;
    result_.disguise = disguise;
    if (line == 0 && !result_.torch_work.empty()) line = result_.torch_work.front().line;
    if (line == 0 && !kernels_.empty()) line = kernels_.front().kernel.line;
    disguise_line_ = line;
    result_.why_disguised = std::move(why);
  }

  std::string work_words() const {
    if (result_.torch_work.empty()) return {};
    const StaticFinding& first = result_.torch_work.front();
    return fmt::format("; PyTorch does the work: {}, line {}", first.what, first.line);
  }

  void judge(const StaticReport& report) {
    // A disguise is only reported for a source that parses completely.
    if (result_.parses) judge_disguise(report);
    judge_good();
    judge_checks(report);
    for (const CheckResult& one : result_.checks) result_.state = std::max(result_.state, one.state);
  }

  void add_check(Check check, CheckState state, std::vector<StaticFinding> why = {}) {
    result_.checks.push_back({check, why.empty() ? CheckState::pass : state, std::move(why)});
  }

  void judge_checks(const StaticReport& report) {
    result_.state = CheckState::pass;
    if (!result_.parses) {
      add_check(Check::parses, CheckState::fail, {{"it does not parse", result_.error_line}});
      return;
    }
    add_check(Check::parses, CheckState::pass);
    add_check(Check::allowed, CheckState::fail, result_.forbidden);
    check_work(Check::has_kernel, Disguise::no_kernel,
               result_.has_jit ? "" : "native code of the source is not examined");
    if (!result_.has_jit) return;
    if (options_.is_whole_answer)
      check_work(Check::launched, Disguise::not_launched,
                 result_.is_launched ? "" : why_not_launched(report));
    check_work(Check::stores, Disguise::does_nothing, why_stores_unknown());
    if (options_.is_whole_answer) check_result();
    add_check(Check::loads, CheckState::unproven,
              result_.loads ? std::vector<StaticFinding>{}
                            : std::vector{StaticFinding{"no kernel loads anything", 0}});
    std::vector<StaticFinding> doubts;
    for (const KernelFacts& facts : kernels_)
      if (facts.kernel.is_reached)
        doubts.insert(doubts.end(), facts.kernel.doubts.begin(), facts.kernel.doubts.end());
    add_check(Check::in_bounds, CheckState::unproven, std::move(doubts));
  }

  // A check whose fault is a disguise; else it is unproven for this reason, if there is one.
  void check_work(Check check, Disguise disguise, std::string why_unproven) {
    if (result_.disguise == disguise)
      add_check(check, CheckState::fail, {{result_.why_disguised, disguise_line_}});
    else if (!why_unproven.empty())
      add_check(check, CheckState::unproven, {{std::move(why_unproven), 0}});
    else
      add_check(check, CheckState::pass);
  }

  void check_result() {
    if (result_.disguise == Disguise::result_unused || !host_.unknown_result)
      check_work(Check::result_used, Disguise::result_unused, "");
    else
      add_check(Check::result_used, CheckState::unproven, {*host_.unknown_result});
    add_check(Check::no_fallback, CheckState::unproven,
              host_.fallback ? std::vector{*host_.fallback} : std::vector<StaticFinding>{});
  }

  bool is_any_wrapped() const {
    return std::ranges::any_of(kernels_, [](const KernelFacts& facts) { return facts.is_wrapped; });
  }

  std::string why_not_launched(const StaticReport& report) const {
    if (report.open) return "names of the source come from elsewhere";
    return is_any_wrapped() ? "a decorator may launch a kernel" : "no launch of a kernel was found";
  }

  bool reached_stores() const {
    return std::ranges::any_of(kernels_, [](const KernelFacts& facts) {
      return facts.kernel.is_reached && facts.kernel.stores > 0;
    });
  }

  std::string why_stores_unknown() const {
    if (reached_stores()) return "";
    return knows_all_stores(kernels_) ? "no store of a kernel was found"
                                      : "a kernel calls a function that is not in the source";
  }

  void judge_disguise(const StaticReport& report) {
    if (kernels_.empty() && !result_.native_code)
      disguised(Disguise::no_kernel, fmt::format("there is no function under @triton.jit{}", work_words()));
    bool whole = options_.is_whole_answer && !kernels_.empty() && !result_.native_code && !report.open;
    if (whole && host_.reached.empty() && !is_any_wrapped())
      disguised(
          Disguise::not_launched,
          fmt::format("{} launches no kernel{}", host_.has_entry ? "the entry" : "the source", work_words()));
    // A device function stores nothing if it returns its result.
    auto should_store = [](const KernelFacts& facts) {
      return facts.kernel.is_reached && !facts.is_called && !facts.has_effect && !facts.is_wrapped;
    };
    if (std::ranges::any_of(kernels_, should_store) && !reached_stores() && !result_.native_code &&
        knows_all_stores(kernels_))
      disguised(Disguise::does_nothing, fmt::format("no kernel stores anything{}", work_words()));
    if (whole && host_.unused_result)
      disguised(
          Disguise::result_unused,
          fmt::format("{}, line {}{}", host_.unused_result->what, host_.unused_result->line, work_words()),
          host_.unused_result->line);
  }

  void judge_good() {
    bool launched = !options_.is_whole_answer || result_.is_launched;
    auto unless = [this](bool holds, std::string_view why) {
      if (!holds && result_.why_not_good.empty()) result_.why_not_good = why;
    };
    unless(result_.parses, "it does not parse");
    unless(result_.forbidden.empty(), "it uses a forbidden operation");
    unless(result_.disguise == Disguise::none, result_.why_disguised);
    unless(result_.has_jit, "there is no function under @triton.jit");
    unless(launched, "no kernel is launched");
    unless(result_.loads, "no kernel loads anything");
    unless(result_.stores, "no kernel stores anything");
    result_.is_good = result_.why_not_good.empty();
  }

  void write_findings() {
    for (const JitKernel& kernel : result_.kernels) {
      if (options_.is_whole_answer && !kernel.is_reached)
        result_.findings.push_back(
            {fmt::format("nothing on the way from the entry launches {}", kernel.name), kernel.line});
      for (std::size_t line : kernel.unmasked_store_lines)
        result_.findings.push_back({fmt::format("{} stores without a mask", kernel.name), line});
      if (kernel.stores == 0 && kernel.launches > 0)
        result_.findings.push_back({fmt::format("{} stores nothing", kernel.name), kernel.line});
    }
    if (options_.is_whole_answer && !host_.has_entry)
      result_.findings.push_back({"there is no entry to begin at", 0});
    std::ranges::sort(result_.findings, {}, place);
  }

  std::string_view source_;
  const IdiomOptions& options_;
  std::vector<KernelFacts> kernels_;
  HostFacts host_;
  Idioms result_;
  std::size_t disguise_line_ = 0;
};

}  // namespace

Idioms find_idioms(std::string_view source, const IdiomOptions& options) {
  return Examination(source, options).run();
}

}  // namespace kw::score
