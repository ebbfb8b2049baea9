// Conversations: the loop of a client's model, turn by turn. The client asks its model; the service judges
// each completion, applies the loop's stop rule and answers with the loop's feedback. State lies in the store
// alone; memory holds the conversations whose last turn is being judged.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/async/semaphore.h"
#include "base/async/wait.h"
#include "base/async/workbench.h"
#include "serve/conversation_json.h"
#include "serve/evaluation.h"
#include "serve/owners.h"
#include "serve/runtime.h"
#include "serve/store.h"
#include "serve/telemetry.h"

namespace kw::service {

class Conversations {
 public:
  struct Limits {
    std::size_t open = 10'000;
    std::size_t bytes = std::size_t{8} << 20;  // of the completions of one conversation
    std::chrono::seconds ttl{3600};            // from its opening or its last verdict
    std::chrono::seconds retention{7 * 24 * 3600};
  };

  struct Hooks {
    std::function<std::string()> protocol;  // of the verifier; empty until there is one
    std::function<void(const std::optional<Error>& failed)> wrote;  // a write to the store ended
    std::function<OwnerRulesPtr(std::string_view owner)> rules;     // null: without limits
  };

  struct Parts {
    const Spawner& spawn;
    Store& store;
    const Clock& clock;
    Metrics& metrics;
    EvaluationBackend& evaluations;
    async::Workbench& workbench;
  };

  // The parts must outlive it.
  Conversations(const Parts& parts, Limits limits, Hooks hooks)
      : parts_(parts), limits_(limits), hooks_(std::move(hooks)) {}

  // Judges the turns that an earlier service left without a verdict.
  void resume() { parts_.spawn(resume_all()); }
  // Takes no more conversations and turns.
  void drain() { draining_ = true; }
  // Ends all retries; what is open stays in the store.
  void close() { draining_ = closed_ = true; }

  struct Answer {
    LoadedConversation conversation;
    bool repeated = false;  // it existed already
    bool judging = false;   // its last turn waits for the verdict
  };

  // Ids are scoped (owners.h). Answers of open() and send() have no earlier completions. `rules`: the limits
  // of the owner; null: none.
  async::Task<Answered<Answer>> open(ConversationRequest request, const OwnerRulesPtr& rules = nullptr);
  // Stores the turn and begins to judge it; until_judged() waits.
  async::Task<Answered<Answer>> send(std::string id, TurnRequest request);
  // Returns at once unless a turn is being judged. A refusal: the queue did not take the turn.
  async::Task<Answered<bool>> until_judged(std::string id, async::Deadline deadline);
  async::Task<Answered<Answer>> look(std::string id, Completions completions = Completions::all);
  async::Task<Answered<Answer>> end(std::string id);

  // One step: expires, and deletes what is beyond its retention. The number of changes.
  async::Task<Result<std::size_t>> purge(std::size_t most);

  const Limits& limits() const { return limits_; }

 private:
  // A turn whose verdict is being sought.
  struct Judging {
    explicit Judging(async::Loop& loop) : done(loop) {}
    async::Event done;
    std::optional<ApiError> refusal;  // the queue is full, ...
    bool is_given_up = false;         // its conversation was ended
    async::Semaphore::Place place;    // among the resumed turns in memory; none: it is no such turn
  };
  // The verdict on a completion.
  struct Judgement {
    std::string code;
    std::optional<Verdict> verdict;
    bool by_source = false;  // without an evaluation
    std::string why_none;    // empty without a verdict: the service ends
  };
  using JudgingPtr = std::shared_ptr<Judging>;

  async::Task<> resume_all();
  JudgingPtr start_judging(const std::string& id, bool insists);
  async::Task<> judge(std::string id, JudgingPtr judging, bool insists);
  async::Task<Answered<Judgement>> judgement_or_reason(LoadedConversation it, JudgingPtr judging);
  async::Task<Answered<Judgement>> judgement_of(LoadedConversation it, JudgingPtr judging);
  async::Task<> keep(const LoadedConversation& it, Judgement judgement);
  async::Task<> take_back(const LoadedConversation& it, std::string why);
  async::Task<> write(std::function<void(ConversationRows&)> work);
  async::Task<Answered<LoadedConversation>> loaded(ConversationRow row) const;
  std::int64_t expiry_ms() const;

  Parts parts_;
  Limits limits_;
  Hooks hooks_;
  std::unordered_map<std::string, JudgingPtr> judging_;
  bool draining_ = false;
  bool closed_ = false;
};

}  // namespace kw::service
