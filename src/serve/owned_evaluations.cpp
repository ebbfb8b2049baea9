#include "serve/owned_evaluations.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "serve/ledger.h"

namespace kw::service {
namespace {

constexpr std::size_t longest_named = 200;

// The same words whether the task exists or not, and without the nearest id.
ApiError no_such_task(std::string_view id) {
  return {404, "unknown_task",
          fmt::format("this key has no task \"{}\"; GET /v1/tasks lists its tasks",
                      to_plain_text(shorten(id, longest_named))),
          "task_id"};
}

}  // namespace

FindTask tasks_for(FindTask all, OwnerRulesPtr rules) {
  if (!rules || rules->tasks.empty()) return all;
  return [all = std::move(all), rules = std::move(rules)](
             std::string_view id, std::string_view version) -> Answered<KnownTaskPtr> {
    auto any_version = all(id, "");
    if (!any_version || !rules->may_use((*any_version)->task.task_id)) return refuse(no_such_task(id));
    return all(id, version);
  };
}

std::optional<ApiError> OwnedEvaluations::refusal_of(const Submission& submission) const {
  if (!rules_) return {};
  if (!submission.task && !rules_->own_references)
    return ApiError{403, "forbidden", "this key may not send reference_code: name a task with task_id",
                    "reference_code"};
  if (submission.task && !rules_->may_use(submission.task->task.task_id))
    return no_such_task(submission.task->task.task_id);
  return {};
}

async::Task<Answered<std::vector<Receipt>>> OwnedEvaluations::submit(std::vector<Submission> submissions) {
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    if (auto refusal = refusal_of(submissions[i])) {
      refusal->field = fmt::format("evaluations[{}].{}", i, refusal->field);
      co_return refuse(std::move(*refusal));
    }
    submissions[i].owner = owner_;
    submissions[i].rules = rules_;
  }
  auto receipts = co_await ledger_.submit(std::move(submissions));
  if (receipts)
    for (Receipt& each : *receipts) each.id = public_id(each.id);
  co_return receipts;
}

std::vector<std::string> OwnedEvaluations::scoped(std::vector<std::string> ids) const {
  for (std::string& id : ids) id = scoped_id(owner_, id);
  return ids;
}

void OwnedEvaluations::unscope(EvaluationState& state) const {
  state.id = public_id(state.id);
}

async::Task<Answered<std::vector<std::optional<EvaluationState>>>> OwnedEvaluations::find(
    std::vector<std::string> ids) {
  auto found = co_await ledger_.find(scoped(std::move(ids)));
  if (found)
    for (auto& each : *found)
      if (each) unscope(*each);
  co_return found;
}

async::Task<Answered<std::vector<std::optional<EvaluationState>>>> OwnedEvaluations::wait(
    std::vector<std::string> ids, async::Deadline deadline) {
  auto found = co_await ledger_.wait(scoped(std::move(ids)), deadline);
  if (found)
    for (auto& each : *found)
      if (each) unscope(*each);
  co_return found;
}

async::Task<Answered<EndedPart>> OwnedEvaluations::ended(EndPlace after, std::size_t most) {
  auto part = co_await ledger_.ended_of(owner_, after, most);
  if (part)
    for (EvaluationState& each : part->records) unscope(each);
  co_return part;
}

async::Task<Answered<std::optional<EvaluationState>>> OwnedEvaluations::cancel(std::string id,
                                                                               std::string cause) {
  auto state = co_await ledger_.cancel(scoped_id(owner_, id), std::move(cause));
  if (state && *state) unscope(**state);
  co_return state;
}

}  // namespace kw::service
