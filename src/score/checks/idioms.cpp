#include "score/checks/idioms.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "score/checks/idiom_parts.h"

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
      result_.why_not_good = "the source is too long to be examined";
      return std::move(result_);
    }
    StaticReport report = examine(source_);
    take(report);
    syntax::Tree tree(source_);
    if (tree.is_null()) {
      result_.parses = false;
      result_.why_not_good = "it takes too long to parse";
      return std::move(result_);
    }
    Aliases aliases = syntax::find_aliases(tree.root());
    kernels_ = find_kernels(tree.root(), aliases);
    host_ = look_at_host(tree.root(), aliases, kernels_, options_.entry);
    mark_reached();
    sum_up();
    judge(report);
    write_findings();
    return std::move(result_);
  }

 private:
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

  void disguised(Disguise disguise, std::string why) {
    if (result_.disguise != Disguise::none) return;
    result_.disguise = disguise;
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
  }

  void judge_disguise(const StaticReport& report) {
    if (kernels_.empty() && !result_.native_code)
      disguised(Disguise::no_kernel, fmt::format("there is no function under @triton.jit{}", work_words()));
    bool whole = options_.is_whole_answer && !kernels_.empty() && !result_.native_code && !report.open;
    if (whole && host_.reached.empty())
      disguised(
          Disguise::not_launched,
          fmt::format("{} launches no kernel{}", host_.has_entry ? "the entry" : "the source", work_words()));
    auto is_reached = [](const KernelFacts& facts) { return facts.kernel.is_reached; };
    auto stores = [](const KernelFacts& facts) { return facts.kernel.is_reached && facts.kernel.stores > 0; };
    if (std::ranges::any_of(kernels_, is_reached) && std::ranges::none_of(kernels_, stores) &&
        !result_.native_code && knows_all_stores(kernels_))
      disguised(Disguise::does_nothing, fmt::format("no kernel stores anything{}", work_words()));
    if (whole && host_.unused_result)
      disguised(Disguise::result_unused, fmt::format("{}, line {}{}", host_.unused_result->what,
                                                     host_.unused_result->line, work_words()));
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
};

}  // namespace

Idioms find_idioms(std::string_view source, const IdiomOptions& options) {
  return Examination(source, options).run();
}

}  // namespace kw::score
