#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "labels/answer_cache.h"
#include "labels/answers.h"
#include "labels/helper.h"
#include "labels/labels.h"

namespace kw::labels {
namespace {

using corpus::Unit;
using corpus::UnitKind;

constexpr std::size_t largest_job = std::size_t{4} << 20;
constexpr int starts = 3;  // of the helper, before we give up on it

// nvcc in the folders of PATH; empty: none.
std::string find_nvcc() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    std::size_t colon = std::min(rest.find(':'), rest.size());
    std::string file = std::string(rest.substr(0, colon)) + "/nvcc";
    if (colon > 0 && ::access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

// Why a unit is not compiled, before anybody has looked at it closely; nothing: it is.
std::optional<std::string> excuse(const Unit& unit, const CompileOptions& options) {
  if (unit.kind == UnitKind::torch) return "";
  if (unit.kind != UnitKind::triton && options.nvcc.empty()) return "no nvcc";
  std::size_t bytes = unit.text.size() + unit.context.size();
  for (const corpus::Launch& launch : unit.launches) bytes += launch.caller_text.size();
  if (bytes > largest_job) return "too large";
  return {};
}

// An answer that says nothing about the kernel, only about this try.
bool is_passing(const Reply& reply) {
  return reply.how != "answered";
}

struct Job {
  std::string key;
  std::vector<std::size_t> units;  // equal ones share an answer
  bool done = false;
};

class Work {
 public:
  Work(const std::vector<Unit>& units, const CompileOptions& options)
      : units_(units), options_(options), targets_(target_names(options)), labels_(units.size()) {}

  Result<std::vector<corpus::Labels>> run() {
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (auto why = excuse(units_[i], options_))
        labels_[i].compile_reason = *why;
      else
        wanted.push_back(i);
    }
    for (int start = 0; start < starts && !wanted.empty(); ++start) {
      auto helper = Helper::start(options_);
      if (!helper) return std::unexpected(helper.error());
      if (start == 0) {
        if (auto ready = gather(wanted, helper->triton()); !ready) return std::unexpected(ready.error());
      }
      auto whole = serve(*helper);
      if (!whole) return std::unexpected(whole.error());
      if (*whole) return std::move(labels_);
      last_error_ = helper->last_error();
    }
    if (wanted.empty()) return std::move(labels_);
    return fail(fmt::format("the process that compiles kernels ends too early: {}", last_error_),
                "look for a lack of memory, or give fewer --jobs");
  }

 private:
  // Equal jobs become one, and what the cache knows is answered.
  Result<> gather(const std::vector<std::size_t>& wanted, const std::string& triton) {
    auto cache = AnswerCache::open(options_.cache, targets_);
    if (!cache) return std::unexpected(cache.error());
    cache_ = std::move(*cache);
    std::map<std::string, std::size_t> known;
    for (std::size_t unit : wanted) {
      std::string key = job_key(job_line(units_[unit]), options_, triton);
      if (const Answer* answer = cache_.find(key)) {
        give(unit, *answer);
        continue;
      }
      auto [place, fresh] = known.try_emplace(key, jobs_.size());
      if (fresh) jobs_.push_back({key, {}});
      jobs_[place->second].units.push_back(unit);
    }
    return {};
  }

  // True once every job is answered, false where the helper has ended before.
  Result<bool> serve(Helper& helper) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (!jobs_[i].done) open.push_back(i);
    helper.feed([this, open, at = std::size_t{0}]() mutable -> std::optional<std::string> {
      if (at == open.size()) return {};
      std::size_t job = open[at++];
      return fmt::format("{} {}", job, job_line(units_[jobs_[job].units.front()]));
    });
    for (std::size_t left = open.size(); left > 0; --left) {
      auto line = helper.line(options_.stop);
      if (!line) return std::unexpected(line.error());
      if (!*line) return false;
      auto reply = read_reply(**line);
      if (!reply || reply->number >= jobs_.size() || jobs_[reply->number].done)
        return fail("the process that compiles kernels answers what nobody asked");
      if (reply->how.starts_with("refused"))
        return fail(fmt::format("a kernel cannot be confined: {}", reply->how),
                    "see `kernelwright doctor`, or accept --allow-unsandboxed");
      if (auto taken = take(*reply); !taken) return std::unexpected(taken.error());
    }
    return true;
  }

  Result<> take(const Reply& reply) {
    Job& job = jobs_[reply.number];
    Answer answer = answer_of(reply, targets_);
    job.done = true;
    for (std::size_t unit : job.units) give(unit, answer);
    bool passing = is_passing(reply) || answer.reason.starts_with("time limit");
    if (!passing)
      if (auto kept = cache_.keep(job.key, answer); !kept) return kept;
    if (options_.progress) options_.progress(++done_, jobs_.size());
    return {};
  }

  void give(std::size_t unit, const Answer& answer) {
    labels_[unit].compile = answer.label;
    labels_[unit].compile_reason = answer.reason;
    labels_[unit].compiled_for = answer.compiled_for;
  }

  const std::vector<Unit>& units_;
  const CompileOptions& options_;
  std::vector<std::string> targets_;
  std::vector<corpus::Labels> labels_;
  std::vector<Job> jobs_;
  AnswerCache cache_;
  std::size_t done_ = 0;
  std::string last_error_;
};

}  // namespace

Result<std::vector<corpus::Labels>> compile_labels(const std::vector<Unit>& units,
                                                   const CompileOptions& options) {
  CompileOptions settled = options;
  if (settled.nvcc.empty()) settled.nvcc = find_nvcc();
  return Work(units, settled).run();
}

}  // namespace kw::labels
