// OwnedEvaluations: the evaluations of one owner. Endpoints get it as Call::evaluations, so that they handle
// the ids that clients see, and find no evaluation of another owner.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "serve/evaluation.h"
#include "serve/owners.h"
#include "serve/task_catalogue.h"

namespace kw::service {

class Ledger;

class OwnedEvaluations : public EvaluationBackend {
 public:
  // `rules` null: without limits. The ledger must outlive it.
  OwnedEvaluations(Ledger& ledger, std::string owner, OwnerRulesPtr rules)
      : ledger_(ledger), owner_(std::move(owner)), rules_(std::move(rules)) {}

  // Refuses a task beyond the owner's scope, as an unknown one, and a reference where none may be sent.
  async::Task<Answered<std::vector<Receipt>>> submit(std::vector<Submission> submissions) override;
  async::Task<Answered<std::vector<std::optional<EvaluationState>>>> find(
      std::vector<std::string> ids) override;
  async::Task<Answered<std::vector<std::optional<EvaluationState>>>> wait(std::vector<std::string> ids,
                                                                          async::Deadline deadline) override;
  async::Task<Answered<EndedPart>> ended(EndPlace after, std::size_t most) override;
  async::Task<Answered<std::optional<EvaluationState>>> cancel(std::string id, std::string cause) override;

 private:
  std::optional<ApiError> refusal_of(const Submission& submission) const;
  std::vector<std::string> scoped(std::vector<std::string> ids) const;
  void unscope(EvaluationState& state) const;

  Ledger& ledger_;
  std::string owner_;
  OwnerRulesPtr rules_;
};

// The tasks that the owner may use; another one is refused like one that does not exist.
FindTask tasks_for(FindTask all, OwnerRulesPtr rules);

}  // namespace kw::service
