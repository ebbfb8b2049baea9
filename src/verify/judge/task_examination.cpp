#include "verify/judge/task_examination.h"

#include <fmt/format.h>

#include "verify/judge/protocol.h"
#include "verify/judge/varied_inputs.h"
#include "verify/judge/varied_shapes.h"

namespace kw::verify {
namespace {

constexpr std::size_t draws = 3;  // of the task's inputs: one, and two to which answers from it are compared
constexpr const char* no_sizes = "{}";

constexpr std::uint64_t most_bytes_on_cpu = std::uint64_t{1} << 30;
constexpr std::uint32_t halvings_of_large_tasks[] = {8, 4, 2, 0};  // the first that the task allows

bool is_too_large_here(const Outcome<>& prepared) {
  const auto* blame = prepared ? nullptr : std::get_if<Blame>(&prepared.error());
  return blame != nullptr && blame->error_class == ErrorClass::too_large;
}

// The oracle runs the reference, which may send anything.
std::vector<std::string> words_of(const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) words.push_back(words_from(text));
  return words;
}

std::optional<double> known(double value) {
  return value >= 0 ? std::optional(value) : std::nullopt;
}

CertifiedInput input_of(const wire::CertifiedInputT& from) {
  return {.input = words_from(from.input),
          .dtype = words_from(from.dtype),
          .shape = from.shape,
          .varies = from.varies,
          .values = words_from(from.values),
          .why_kept = words_from(from.why_kept),
          .ignored = from.ignored};
}

CertifiedOutput output_of(const wire::CertifiedOutputT& from) {
  CertifiedOutput output{.output = words_from(from.output),
                         .dtype = words_from(from.dtype),
                         .shape = from.shape,
                         .empty_answers = words_of(from.empty_answers),
                         .rms = known(from.rms),
                         .reference_loss = known(from.reference_loss),
                         .sensitivity = known(from.sensitivity),
                         .ill_conditioned = from.ill_conditioned};
  if (!from.why_unknown.empty())
    output.why_unknown = from_string<NoErrorRatio>(from.why_unknown).value_or(NoErrorRatio::no_float64);
  return output;
}

}  // namespace

TaskExamination::TaskExamination(Context& context, const Job& task, const Settings& settings,
                                 async::Stop& stop)
    : settings_(settings),
      row_(Timeline::row(context.timeline, "certificates")),
      case_{context, task, settings_, stop, times_, is_alone_, row_},
      oracle_(case_),
      device_(context.leases, stop, row_) {
  found_.id = task.id;
  found_.task_id = task.task.task_id;
}

async::Task<TaskCertificate> TaskExamination::run() {
  const auto start = async::SteadyClock::now();
  if (auto taken = co_await oracle_.take(); !taken) {
    take_error(taken.error());
    co_return std::move(found_);
  }
  co_await device_.take();
  if (auto examined = co_await examine(); !examined) take_error(examined.error());
  if (oracle_.is_retired()) co_await oracle_.end_process();
  device_.give_back();
  co_await oracle_.give_back();
  found_.marks = marks_of(found_);
  found_.seconds = async::ms_since(start) / 1000;
  co_return std::move(found_);
}

// Nothing is interpreted here, so that weights may be larger than those of a verdict without a GPU.
async::Task<Outcome<>> TaskExamination::prepare() {
  if (settings_.device != Device::cpu) co_return co_await oracle_.prepare_on_gpu(device_);
  auto prepared = co_await oracle_.prepare_on_cpu();
  if (!is_too_large_here(prepared)) co_return prepared;
  // Sizes that depend on each other cannot be halved alone: the reference raises, and fewer are halved.
  for (std::uint32_t halvings : halvings_of_large_tasks)
    if (!prepared && !oracle_.process().broke())
      prepared = co_await oracle_.prepare(most_bytes_on_cpu, halvings);
  co_return prepared;
}

async::Task<Outcome<>> TaskExamination::examine() {
  if (auto prepared = co_await prepare(); !prepared) co_return prepared;
  const wire::PreparedT& facts = oracle_.facts();
  found_.empty_answers = words_of(facts.passing_answers);
  found_.random = facts.reference_random;
  found_.findings = words_of(facts.findings);
  if (facts.reduced) found_.reduced_sizes = words_from(facts.sizes);
  if (auto taken = co_await take_facts(); !taken) co_return taken;
  co_return co_await try_shapes();
}

async::Task<Outcome<>> TaskExamination::take_facts() {
  auto certified = co_await oracle_.certify(draws);
  if (!certified) co_return std::unexpected(certified.error());
  for (const auto& each : certified->inputs)
    if (each) found_.inputs.push_back(input_of(*each));
  for (const auto& each : certified->outputs)
    if (each) found_.outputs.push_back(output_of(*each));
  found_.weak_answers = words_of(certified->weak_answers);
  if (certified->left_out > 0)
    found_.findings.push_back(fmt::format("{} inputs and outputs are not listed", certified->left_out));
  if (!certified->untried.empty())
    found_.findings.push_back("not all inputs and weak answers were tried: " +
                              words_from(certified->untried));
  found_.unseeded = certified->unseeded;
  found_.changed_inputs = words_of(certified->changed_inputs);
  found_.changed_weights = words_of(certified->changed_weights);
  co_return Outcome<>{};
}

async::Task<Outcome<>> TaskExamination::try_shapes() {
  std::uint64_t max_bytes = most_bytes(settings_, oracle_.spec());
  if (settings_.device == Device::cpu && oracle_.spec().input_bytes > max_bytes)
    max_bytes = most_bytes_on_cpu;
  for (const char* version : other_shapes) {
    CertifiedShape& shape = found_.shapes.emplace_back(CertifiedShape{.version = version});
    if (oracle_.process().broke()) {
      shape.why_not = "an attempt before ended the reference's process";
      continue;
    }
    auto prepared = co_await oracle_.prepare_version(version, max_bytes);
    if (prepared) {
      shape.tried = true;
      shape.sizes = prepared->sizes.empty() ? no_sizes : words_from(prepared->sizes);
    } else if (const auto* blame = std::get_if<Blame>(&prepared.error())) {
      shape.tried = blame->fault == Fault::task && !oracle_.process().broke();
      shape.why_not = words_from(blame->error);
    } else {
      co_return std::unexpected(prepared.error());
    }
  }
  co_return Outcome<>{};
}

void TaskExamination::take_error(const Ended& ended) {
  const auto* blame = std::get_if<Blame>(&ended);
  // A task that is too large to be examined here is nobody's fault.
  found_.fault = blame == nullptr ? Fault::infrastructure : blame->fault;
  found_.error = blame == nullptr ? "stopped" : words_from(blame->error);
  found_.marks = marks_of(found_);
}

}  // namespace kw::verify
