// Restores, ends and drains the evaluations of the store.
#include <fmt/format.h>

#include "serve/evaluation_json.h"
#include "serve/hidden_reference.h"
#include "serve/ledger.h"
#include "serve/owners.h"

namespace kw::service {

using namespace std::chrono_literals;

namespace {

constexpr auto stopping_limit = 30s;
constexpr auto saving_limit = 10s;
constexpr auto glance = 10ms;
constexpr auto first_retry = 100ms;
constexpr auto last_retry = 5'000ms;

// The remaining time, limited to the time that was given, since the system clock may have been changed.
async::Deadline deadline_of(const OpenRow& row, std::int64_t now_ms) {
  if (!row.deadline_at_ms) return async::Deadline::never();
  std::int64_t given = std::max<std::int64_t>(0, *row.deadline_at_ms - row.submitted_at_ms);
  return async::Deadline::in(
      std::chrono::milliseconds(std::clamp<std::int64_t>(*row.deadline_at_ms - now_ms, 0, given)));
}

// Whether a client that named the task by id gets the whole verdict.
bool tells_all(Verdict verdict) {
  return !hide_reference(verdict);
}

Answered<Submission> read_again(OpenRow& row) {
  auto fields = read_object(row.request);
  if (!fields) return refuse(std::move(fields.error()));
  (*fields)["id"] = public_id(row.id);
  if (row.task.empty()) return read_submission(std::move(*fields), std::move(row.request));
  auto pinned = read_pinned(row.task);
  if (!pinned) return refuse({500, "store", pinned.error().what});
  // The task as it was when the evaluation was submitted, whatever --tasks has now.
  auto find = [&](std::string_view, std::string_view) { return Answered<KnownTaskPtr>(*pinned); };
  return read_submission(std::move(*fields), std::move(row.request), find);
}

}  // namespace

void Ledger::restore(std::vector<OpenRow> rows) {
  for (OpenRow& row : rows) {
    auto entry = std::make_shared<Entry>();
    entry->admitted = true;
    entry->seq = row.seq;
    entry->digest = std::move(row.digest);
    entry->record.id = row.id;
    entry->record.submitted_at_ms = row.submitted_at_ms;
    entry->deadline = deadline_of(row, clock_.now_ms());
    entry->bytes = row.request.size();
    keep(entry);
    auto submission = read_again(row);
    if (!submission) {
      abandon(entry, "its stored request cannot be read: " + submission.error().message);
      continue;
    }
    entry->priority = submission->priority;
    entry->fresh = submission->fresh;
    entry->job = std::make_shared<const Job>(std::move(submission->job));
    enter(entry);
  }
}

void Ledger::judge_with(verify::SharedVerifier& verifier) {
  verifier_ = &verifier;
  dispatcher_.use(verifier);
  Entries waiting = queue_.take_all();
  for (const EntryPtr& entry : waiting) {
    name_work(*entry);
    queue_.push(entry);
  }
  spawn_(answer_known(std::move(waiting)));
}

// Evaluations that arrived before the protocol was known may have a stored verdict.
async::Task<> Ledger::answer_known(Entries waiting) {
  std::erase_if(waiting, [](const EntryPtr& entry) { return entry->fresh; });
  std::vector<std::string> keys;
  for (const EntryPtr& entry : waiting) keys.push_back(entry->work_key);
  auto known = keys.empty() ? Result<std::vector<std::optional<std::string>>>()
                            : co_await store_.known_verdicts(std::move(keys));
  if (!known) co_return;  // without an answer of the store, they are judged
  for (std::size_t i = 0; i < known->size(); ++i) {
    const EntryPtr& entry = waiting[i];
    if (!(*known)[i] || entry->ending || entry->share) continue;
    queue_.remove(*entry);
    ++metrics_.shared;
    EndRow row = ending(entry, State::done);
    row.record.verdict = std::make_shared<const std::string>(shared_verdict_text(*(*known)[i], *entry->job));
    write_end({entry}, {std::move(row)});
  }
}

void Ledger::started(const EntryPtr& entry) {
  entry->record.state = State::running;
  entry->record.started_at_ms = clock_.now_ms();
  metrics_.waited.add(static_cast<double>(*entry->record.started_at_ms - entry->record.submitted_at_ms) /
                      1000);
}

void Ledger::ended(const EntryPtr& entry, const verify::SharedVerifier::Share& share) {
  const Verdict* verdict = share.verdict();
  const bool shareable = verdict != nullptr && verdict->fault != Fault::infrastructure;
  const std::string_view owner = owner_of(entry->record.id);
  // The operator's requests with and without the reference share; an owner's have keys apart.
  const bool is_whole =
      verdict == nullptr || !owner.empty() || !names_task(*entry->job) || tells_all(*verdict);
  // Stopped, or sharing an infrastructure fault of another evaluation's work: queue it again.
  if (verdict == nullptr || (!shareable && !share.is_first())) {
    entry->record.state = State::queued;
    entry->record.started_at_ms.reset();
    if (!dispatcher_.join(entry)) queue_.push(entry);
    return;
  }
  EndRow row = ending(entry, State::done);
  row.record.verdict = std::make_shared<const std::string>(verdict_text(*verdict, *entry->job));
  if (shareable && is_whole)
    row.work = scoped_work(owner, names_task(*entry->job), verdict->work.value_or(""));
  row.was_judged = shareable;
  metrics_.shared += share.is_first() ? 0 : 1;
  ++metrics_.verdicts[std::string(to_string(verdict->status))];
  metrics_.ran.add(static_cast<double>(*row.record.finished_at_ms - *row.record.started_at_ms) / 1000);
  write_end({entry}, {std::move(row)});
}

void Ledger::abandon(const EntryPtr& entry, const std::string& cause) {
  if (entry->ending) return;
  queue_.remove(*entry);
  Dispatcher::leave(entry);
  ++metrics_.cancelled;
  EndRow row = ending(entry, State::cancelled);
  row.record.cause = cause;
  row.was_judged = false;
  write_end({entry}, {std::move(row)});
}

// Prevents any other end of the evaluation.
EndRow Ledger::ending(const EntryPtr& entry, State state) {
  entry->ending = true;
  deadlines_.remove(entry);
  EndRow row{entry->seq, entry->record};
  row.record.state = state;
  row.record.finished_at_ms = clock_.now_ms();
  return row;
}

void Ledger::write_end(Entries entries, std::vector<EndRow> rows) {
  unsaved_ += entries.size();
  spawn_(keep_writing(std::move(entries), std::move(rows)));
}

// Publishes an end only when it is on disk: a published verdict must survive a crash.
async::Task<> Ledger::keep_writing(Entries entries, std::vector<EndRow> rows) {
  for (std::chrono::milliseconds wait = first_retry;;
       wait = std::min<std::chrono::milliseconds>(2 * wait, last_retry)) {
    auto written = co_await store_.end(rows);
    hooks_.wrote(written ? std::nullopt : std::optional(written.error()));
    if (written) break;
    co_await async::sleep_until(async::Deadline::in(wait));
    if (closed_) co_return;
  }
  unsaved_ -= entries.size();
  for (std::size_t i = 0; i < entries.size(); ++i) settle(entries[i], rows[i].record);
  pump();
}

void Ledger::settle(const EntryPtr& entry, const EvaluationState& record) {
  entry->record = record;
  lose(*entry);
  shelf_.put(record);
  changed(*entry);
}

async::Task<> Ledger::drain(async::Deadline deadline) {
  draining_ = true;
  while (!dispatcher_.is_idle() && !deadline.passed())
    co_await async::sleep_until(async::Deadline::in(glance));
  dispatcher_.stop_all("the service is shutting down");
  auto stopped = async::Deadline::in(stopping_limit);
  while (!dispatcher_.is_idle() && !stopped.passed())
    co_await async::sleep_until(async::Deadline::in(glance));
  auto saved = async::Deadline::in(saving_limit);
  while (unsaved_ > 0 && !saved.passed()) co_await async::sleep_until(async::Deadline::in(glance));
  closed_ = true;
  deadlines_.stop();
  for (Watch* watch : watches_) watch->wake();
}

}  // namespace kw::service
