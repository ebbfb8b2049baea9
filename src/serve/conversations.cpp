#include "serve/conversations.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/json.h"
#include "base/core/text.h"
#include "code/answers/extraction.h"
#include "loop/refine/prompt.h"
#include "serve/evaluation_json.h"

namespace kw::service {

using namespace std::chrono_literals;

namespace {

namespace json = boost::json;
using Opening = ConversationRows::Opening;
using Sending = ConversationRows::Sending;

constexpr auto first_write_retry = 100ms;
constexpr auto last_write_retry = 5'000ms;
constexpr std::size_t most_resumed = 1'024;  // turns of an earlier service that are in memory at a time

ApiError broken_conversations(const Error& error) {
  return {503, "store", "cannot reach the store of the conversations: " + error.what, "", 5};
}

ApiError no_conversation(const std::string& id) {
  return {404, "unknown",
          fmt::format("no conversation \"{}\" exists", to_plain_text(shorten(public_id(id), 128)))};
}

ApiError conversation_conflict(std::string_view field, std::string message) {
  return {409, "conflict", std::move(message), std::string(field)};
}

// The refusal of a turn; none: it was taken.
std::optional<ApiError> turn_refusal(const std::string& id, Sending how, const ConversationRow& row,
                                     std::size_t turn, std::size_t most_bytes) {
  switch (how) {
    case Sending::sent:
    case Sending::repeated:
      return {};
    case Sending::unknown:
      return no_conversation(id);
    case Sending::conflict:
      return conversation_conflict("completion", fmt::format("turn {} exists with another completion", turn));
    case Sending::over:
      return ApiError{409, "ended", fmt::format("the conversation has ended: {}", row.stop_reason), "turn"};
    case Sending::out_of_order:
      return ApiError{409, "out_of_order",
                      row.is_judging() ? fmt::format("turn {} is being judged", row.turns.size())
                                       : fmt::format("the next turn is {}", row.turns.size() + 1),
                      "turn"};
    case Sending::too_large:
      return ApiError{413, "too_large",
                      fmt::format("the completions of a conversation may have {} bytes", most_bytes),
                      "completion"};
  }
  return {};
}

std::int64_t ms_of(std::chrono::seconds time) {
  return std::chrono::milliseconds(time).count();
}

}  // namespace

std::int64_t Conversations::expiry_ms() const {
  return parts_.clock.now_ms() + ms_of(limits_.ttl);
}

// The task may have megabytes, which the loop's thread does not parse.
async::Task<Answered<LoadedConversation>> Conversations::loaded(ConversationRow row) const {
  const std::size_t bytes = row.task.size() + row.request.size();
  co_return co_await parts_.workbench.result_of<Answered<LoadedConversation>>(
      bytes, [row = std::move(row)]() mutable { return LoadedConversation::of(std::move(row)); });
}

async::Task<Answered<Conversations::Answer>> Conversations::open(ConversationRequest request,
                                                                 const OwnerRulesPtr& rules) {
  if (draining_) co_return refuse({503, "draining", "the service is shutting down", "", 5});
  ConversationRow row;
  row.id = request.id;
  row.digest = std::move(request.digest);
  row.request = std::move(request.text);
  row.task = pinned_text(*request.task);
  row.opened_at_ms = parts_.clock.now_ms();
  row.expires_at_ms = expiry_ms();
  auto opened = co_await parts_.store.conversations<ConversationRows::Opened>(
      [row = std::move(row), most = limits_.open, rules](ConversationRows& rows) {
        return rows.open(row, {most, rules ? rules->conversations_at_once : 0, rules != nullptr});
      });
  hooks_.wrote(opened ? std::nullopt : std::optional(opened.error()));
  if (!opened) co_return refuse(broken_conversations(opened.error()));
  if (opened->how == Opening::conflict)
    co_return refuse(conversation_conflict(
        "id", fmt::format("the conversation \"{}\" exists with a different request", public_id(request.id))));
  if (opened->how == Opening::owner_full)
    co_return refuse({429, "quota",
                      fmt::format("this key may have {} open conversations (conversations_at_once)",
                                  rules->conversations_at_once),
                      "", 30});
  if (opened->how == Opening::share_full)
    co_return refuse({429, "conversations_full",
                      "this key has as many conversations open as there are free places for other keys", "",
                      30});
  if (opened->how == Opening::full)
    co_return refuse({429, "conversations_full",
                      fmt::format("{} conversations are open, which is the limit", limits_.open), "", 30});
  const bool repeated = opened->how == Opening::repeated;
  if (!repeated) ++parts_.metrics.conversations;
  auto read = co_await loaded(std::move(opened->row));
  if (!read) co_return refuse(std::move(read.error()));
  const bool judging = read->row.is_judging();
  co_return Answer{std::move(*read), repeated, judging};
}

async::Task<Answered<Conversations::Answer>> Conversations::look(std::string id, Completions completions) {
  auto found = co_await parts_.store.conversations<std::optional<ConversationRow>>(
      [id, completions, now_ms = parts_.clock.now_ms()](ConversationRows& rows) {
        return rows.find(id, now_ms, completions);
      });
  if (!found) co_return refuse(broken_conversations(found.error()));
  if (!*found) co_return refuse(no_conversation(id));
  auto read = co_await loaded(std::move(**found));
  if (!read) co_return refuse(std::move(read.error()));
  const bool judging = read->row.is_judging();
  if (judging && !draining_) start_judging(id, true);  // if nobody does
  co_return Answer{std::move(*read), false, judging};
}

async::Task<Answered<Conversations::Answer>> Conversations::send(std::string id, TurnRequest request) {
  if (draining_) co_return refuse({503, "draining", "the service is shutting down", "", 5});
  TurnRow turn;
  turn.turn = request.turn;
  turn.completion = std::move(request.completion);
  turn.finish_reason = std::move(request.finish_reason);
  turn.evaluation = new_id("cv-");
  turn.sent_at_ms = parts_.clock.now_ms();
  auto sent = co_await parts_.store.conversations<ConversationRows::Sent>(
      [id, turn = std::move(turn), most = limits_.bytes](ConversationRows& rows) {
        return rows.send(id, turn, turn.sent_at_ms, most);
      });
  hooks_.wrote(sent ? std::nullopt : std::optional(sent.error()));
  if (!sent) co_return refuse(broken_conversations(sent.error()));
  if (auto refusal = turn_refusal(id, sent->how, sent->row, request.turn, limits_.bytes))
    co_return refuse(std::move(*refusal));
  const bool repeated = sent->how == Sending::repeated;
  if (!repeated) ++parts_.metrics.conversation_turns;
  auto read = co_await loaded(std::move(sent->row));
  if (!read) co_return refuse(std::move(read.error()));
  const bool judging = read->row.is_judging() && read->row.turns.size() == request.turn;
  if (judging) start_judging(id, false);
  co_return Answer{std::move(*read), repeated, judging};
}

async::Task<Answered<bool>> Conversations::until_judged(std::string id, async::Deadline deadline) {
  auto place = judging_.find(id);
  if (place == judging_.end()) co_return true;
  JudgingPtr judging = place->second;
  co_await async::within(deadline, nullptr, judging->done.wait());
  if (judging->refusal) co_return refuse(*judging->refusal);
  co_return judging->done.is_set();
}

async::Task<Answered<Conversations::Answer>> Conversations::end(std::string id) {
  auto ended = co_await parts_.store.conversations<ConversationRows::Ended>(
      [id, now_ms = parts_.clock.now_ms()](ConversationRows& rows) {
        return rows.end(id, {"cancelled", "ended by the client"}, now_ms);
      });
  hooks_.wrote(ended ? std::nullopt : std::optional(ended.error()));
  if (!ended) co_return refuse(broken_conversations(ended.error()));
  if (!ended->row) co_return refuse(no_conversation(id));
  if (auto place = judging_.find(id); place != judging_.end()) place->second->is_given_up = true;
  if (!ended->unjudged.empty())
    co_await parts_.evaluations.cancel(scoped_id(owner_of(id), ended->unjudged),
                                       "its conversation was ended");
  auto loaded = LoadedConversation::of(std::move(*ended->row));
  if (!loaded) co_return refuse(std::move(loaded.error()));
  co_return Answer{std::move(*loaded)};
}

async::Task<Result<std::size_t>> Conversations::purge(std::size_t most) {
  const std::int64_t now_ms = parts_.clock.now_ms();
  return parts_.store.conversations<std::size_t>(
      [now_ms, ended_before_ms = now_ms - ms_of(limits_.retention), most](ConversationRows& rows) {
        return rows.purge(now_ms, ended_before_ms, most);
      });
}

async::Task<> Conversations::resume_all() {
  auto ids = co_await parts_.store.conversations<std::vector<std::string>>(
      [](ConversationRows& rows) { return rows.judging(); });
  if (!ids) co_return hooks_.wrote(ids.error());
  // Each holds its completion and its task in memory until the verdict.
  async::Semaphore places(parts_.spawn.loop(), most_resumed);
  for (const std::string& id : *ids) {
    auto place = co_await places.take();
    if (closed_) co_return;
    start_judging(id, true)->place = std::move(place);
  }
}

// `insists`: no client waits for a refusal, so a full queue is tried again.
Conversations::JudgingPtr Conversations::start_judging(const std::string& id, bool insists) {
  auto [place, is_new] = judging_.try_emplace(id);
  if (!is_new) return place->second;
  JudgingPtr judging = place->second = std::make_shared<Judging>(parts_.spawn.loop());
  parts_.spawn(judge(id, judging, insists));
  return judging;
}

async::Task<> Conversations::judge(std::string id, JudgingPtr judging, bool insists) {
  std::chrono::milliseconds pause = first_write_retry;
  while (!closed_) {
    auto answer = co_await look(id, Completions::last);
    if (!answer || !answer->judging) break;
    const std::string evaluation = answer->conversation.row.turns.back().evaluation;
    auto judgement = co_await judgement_or_reason(std::move(answer->conversation), judging);
    const bool is_full = !judgement && judgement.error().retry_after_s > 0;
    if (is_full && insists) {
      // A turn that waits for its owner's quota, for hours perhaps, holds up no other.
      judging->place.give_back();
      co_await async::sleep_until(async::Deadline::in(pause));
      pause = std::min<std::chrono::milliseconds>(2 * pause, last_write_retry);
      continue;
    }
    // The conversation may have ended, and its memory was not kept, while the turn was judged.
    auto now = co_await look(id, Completions::last);
    if (!now || !now->judging || now->conversation.row.turns.back().evaluation != evaluation) break;
    if (is_full) judging->refusal = judgement.error();
    if (is_full && judging->refusal->error_class == "draining") break;  // the next service judges it
    if (!judgement)
      co_await take_back(now->conversation, judgement.error().message);
    else if (judgement->verdict)
      co_await keep(now->conversation, std::move(*judgement));
    else if (!judgement->why_none.empty())
      co_await take_back(now->conversation, std::move(judgement->why_none));
    break;
  }
  if (auto place = judging_.find(id); place != judging_.end() && place->second == judging)
    judging_.erase(place);
  judging->done.set();
}

// A fault in this program ends no service: the turn is taken back with its words.
async::Task<Answered<Conversations::Judgement>> Conversations::judgement_or_reason(LoadedConversation it,
                                                                                   JudgingPtr judging) {
  try {
    co_return co_await judgement_of(std::move(it), std::move(judging));
  } catch (const std::exception& thrown) {
    co_return refuse({500, "internal", fmt::format("the service failed: {}", thrown.what()), ""});
  }
}

namespace {

constexpr std::size_t longest_kernel_name = 200;  // bytes: a model chooses it

// The evaluation of the last turn, under its own id: a repeated submission finds it.
Answered<Submission> submission_of(const LoadedConversation& it, const std::string& code,
                                   const std::string& kernel_name) {
  json::object fields{{"id", it.row.turns.back().evaluation},
                      {"task_id", it.task->task.task_id},
                      {"kernel_code", code},
                      {"kernel_name", shorten(kernel_name, longest_kernel_name)},
                      {"conversation", public_id(it.row.id)}};
  if (!it.settings.options.empty()) fields["options"] = it.settings.options;
  auto find = [&](std::string_view, std::string_view) { return Answered<KnownTaskPtr>(it.task); };
  return read_submission(std::move(fields), {}, find);
}

std::optional<Verdict> stored_verdict(const EvaluationState& state) {
  if (!state.verdict) return {};
  auto value = parse_json(*state.verdict);
  if (!value || !value->is_object()) return {};
  auto verdict = verdict_from_json(value->get_object());
  return verdict ? std::optional(std::move(*verdict)) : std::nullopt;
}

}  // namespace

// An error: the evaluation was refused. The conversation is released before the wait for its verdict.
async::Task<Answered<Conversations::Judgement>> Conversations::judgement_of(LoadedConversation it,
                                                                            JudgingPtr judging) {
  Judgement judgement;
  std::vector<Submission> one;
  std::string evaluation = it.row.turns.back().evaluation;
  {
    const LoadedConversation loaded = std::move(it);
    const TurnRow& turn = loaded.row.turns.back();
    auto before = co_await parts_.workbench.result_of<refine::Precheck>(
        turn.completion.size(), [&turn, &code = judgement.code] {
          code = extract_answered_code(turn.completion);
          return refine::check_before(code, turn.finish_reason == "length");
        });
    if (before.verdict) {
      before.verdict->candidate_sha256 = candidate_sha256(judgement.code);
      before.verdict->environment.protocol = hooks_.protocol();
      judgement.verdict = std::move(before.verdict);
      judgement.by_source = true;
      co_return judgement;
    }
    auto submission = submission_of(loaded, judgement.code, before.kernel_name);
    if (!submission) co_return refuse(std::move(submission.error()));
    submission->owner = owner_of(loaded.row.id);
    submission->rules = hooks_.rules(submission->owner);
    evaluation = scoped_id(submission->owner, evaluation);
    one.push_back(std::move(*submission));
  }
  // The conversation may end before the evaluation exists that its end would cancel.
  judgement.why_none = "its conversation was ended";
  if (judging->is_given_up) co_return judgement;
  auto receipts = co_await parts_.evaluations.submit(std::move(one));
  if (!receipts) co_return refuse(std::move(receipts.error()));
  if (judging->is_given_up) co_await parts_.evaluations.cancel(evaluation, judgement.why_none);
  judgement.why_none.clear();
  std::vector<std::string> ids{evaluation};
  auto found = co_await parts_.evaluations.wait(std::move(ids), async::Deadline::never());
  if (!found) co_return refuse(std::move(found.error()));
  const auto& state = found->front();
  if (!state) {
    judgement.why_none = "its evaluation was lost";
  } else if (state->state == State::cancelled) {
    judgement.why_none = "its evaluation was cancelled: " + state->cause;
  } else if (state->state == State::done) {
    judgement.verdict = stored_verdict(*state);
    if (!judgement.verdict) judgement.why_none = "its verdict cannot be read";
  }
  co_return judgement;
}

async::Task<> Conversations::keep(const LoadedConversation& it, Judgement judgement) {
  refine::OpenTrace trace = it.trace();
  const Verdict& verdict = *judgement.verdict;
  Turn& last = trace.conversation().turns.back();
  last.code = std::move(judgement.code);
  last.verdict = verdict;
  refine::NextStep next = refine::next_step(trace, it.settings.loop);
  // Not judged: the same turn may be sent again. A candidate that cannot be judged here has been judged so.
  if (verdict.fault == Fault::infrastructure)
    co_return co_await take_back(it, verdict.error.value_or("the service could not judge it"));
  TurnRow turn = it.row.turns.back();
  turn.completion.clear();
  if (judgement.by_source) turn.evaluation.clear();
  turn.verdict = json::serialize(short_verdict(verdict));
  turn.feedback = std::move(next.feedback);
  turn.reward = reward_of(verdict, it.settings.reward);
  turn.judged_at_ms = parts_.clock.now_ms();
  std::optional<ConversationEnd> end;
  if (next.end) end = ConversationEnd{std::string(to_string(*next.end)), std::move(next.why)};
  co_await write(
      [seq = it.row.seq, turn = std::move(turn), end = std::move(end),
       expires_at_ms = expiry_ms()](ConversationRows& rows) { rows.judged(seq, turn, end, expires_at_ms); });
}

async::Task<> Conversations::take_back(const LoadedConversation& it, std::string why) {
  co_await write([seq = it.row.seq, turn = it.row.turns.size(), why = std::move(why),
                  expires_at_ms = expiry_ms()](ConversationRows& rows) {
    rows.take_back(seq, turn, why, expires_at_ms);
  });
}

// Tries until it is on disk, or the service ends: the next one then judges the turn again.
async::Task<> Conversations::write(std::function<void(ConversationRows&)> work) {
  for (std::chrono::milliseconds pause = first_write_retry; !closed_;
       pause = std::min<std::chrono::milliseconds>(2 * pause, last_write_retry)) {
    auto written = co_await parts_.store.conversations<bool>([work](ConversationRows& rows) {
      work(rows);
      return true;
    });
    hooks_.wrote(written ? std::nullopt : std::optional(written.error()));
    if (written) break;
    co_await async::sleep_until(async::Deadline::in(pause));
  }
}

}  // namespace kw::service
