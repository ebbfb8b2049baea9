#include "serve/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "serve/evaluation_json.h"
#include "serve/owners.h"
#include "serve/task_catalogue.h"
#include "verify/api/shared_verifier.h"

namespace kw::service {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t shelf_bytes = std::size_t{64} << 20;
// The number of unsaved ends at which no more evaluations start.
constexpr std::size_t most_unsaved = 2'000;
constexpr auto cancelling_limit = 10s;
constexpr double longest_retry_s = 60;
constexpr int share_retry_s = 5;
constexpr std::int64_t day_s = 24 * 3600;

std::string id_field(std::size_t index) {
  return fmt::format("evaluations[{}].id", index);
}

ApiError conflict(std::size_t index, const std::string& id) {
  return {409, "conflict", fmt::format("the id \"{}\" exists with a different request", public_id(id)),
          id_field(index)};
}

std::string key_of(const Submission& submission) {
  return scoped_id(submission.owner, submission.job.id);
}

// Tries never come back, so a retry cannot succeed.
ApiError quota_spent(Quota quota, const OwnerRules& rules, std::int64_t now_ms) {
  if (quota == Quota::tries)
    return {403, "no_tries_left",
            fmt::format("this key may try a task {} times (tries_per_task)", rules.tries_per_task),
            "task_id"};
  return {429, "quota",
          fmt::format("this key may submit {} evaluations a day, from midnight UTC (evaluations_per_day)",
                      rules.evaluations_per_day),
          "", static_cast<int>(day_s - now_ms / 1000 % day_s)};
}

ApiError broken_store(const Error& error) {
  return {503, "store", "cannot store the evaluation: " + error.what, "", 5};
}

std::size_t weight(const Submission& submission) {
  return submission.request.size() + submission.job.task.reference_code.size() +
         submission.job.candidate.code.size();
}

}  // namespace

// The entries that a submission has reserved; drops those that were not stored.
class Ledger::Reserved {
 public:
  explicit Reserved(Ledger& ledger) : ledger_(ledger) {}
  Reserved(const Reserved&) = delete;
  ~Reserved() {
    for (const EntryPtr& entry : entries)
      if (!entry->admitted) ledger_.drop(entry);
  }
  Entries entries;

 private:
  Ledger& ledger_;
};

Ledger::Ledger(const Parts& parts, Bounds bounds, Hooks hooks)
    : spawn_(parts.spawn),
      store_(parts.store),
      clock_(parts.clock),
      metrics_(parts.metrics),
      bounds_(bounds),
      hooks_(std::move(hooks)),
      shelf_(shelf_bytes),
      deadlines_(parts.spawn, [this](const EntryPtr& entry) { abandon(entry, "deadline"); }),
      dispatcher_(
          parts.spawn, queue_,
          {.may_start = [this] { return !draining_ && unsaved_ < most_unsaved && hooks_.may_judge(); },
           .started = [this](const EntryPtr& entry) { started(entry); },
           .ended = [this](const EntryPtr& entry, const auto& share) { ended(entry, share); }}) {}

EntryPtr Ledger::open_entry(const std::string& id) const {
  auto found = open_.find(id);
  return found != open_.end() && found->second->admitted ? found->second : nullptr;
}

std::optional<ApiError> Ledger::check_ids(const std::vector<Submission>& submissions) const {
  std::unordered_map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const std::string id = key_of(submissions[i]);
    if (auto [earlier, is_new] = first.emplace(id, i); !is_new)
      return ApiError{400, "invalid",
                      fmt::format("{} equals the id of evaluations[{}]", id_field(i), earlier->second),
                      id_field(i)};
    auto found = open_.find(id);
    if (found != open_.end() && found->second->digest != submissions[i].digest) return conflict(i, id);
  }
  return {};
}

std::size_t Ledger::waiting_of(const std::string& owner) const {
  auto held = held_by_.find(owner);
  if (held == held_by_.end()) return 0;
  return held->second.count - std::min(held->second.count, dispatcher_.running_of(owner));
}

// An owner may have as many waiting as the queue has places free: the first takes half, the next one half of
// the rest.
std::optional<ApiError> Ledger::check_room(const std::vector<Submission>& submissions) const {
  std::size_t count = 0;
  std::size_t bytes = 0;
  for (const Submission& each : submissions) {
    if (open_.contains(key_of(each))) continue;
    ++count;
    bytes += weight(each);
  }
  if (count == 0) return {};
  const std::size_t waiting = open_.size() - std::min(open_.size(), dispatcher_.running());
  const std::size_t places = bounds_.queue - std::min(bounds_.queue, waiting);
  const std::size_t room_bytes = bounds_.queue_bytes - std::min(bounds_.queue_bytes, open_bytes_);
  const auto full = [&](std::string message) {
    return ApiError{429, "queue_full", std::move(message), "", seconds_until_room()};
  };
  if (count > places || bytes > room_bytes)
    return full(fmt::format("{} evaluations are waiting; the queue has no room for {} more", waiting, count));
  if (!submissions.front().rules) return {};
  const std::string& owner = submissions.front().owner;
  const auto held = held_by_.find(owner);
  const std::size_t held_bytes = held == held_by_.end() ? 0 : held->second.bytes;
  const std::size_t mine = waiting_of(owner);
  // As if they came one after another: each takes a place, and the last finds as many free as there are then.
  if (mine + 2 * count <= places + 1 && held_bytes + 2 * bytes <= room_bytes) return {};
  return full(
      fmt::format("this key has {} evaluations waiting, and the queue keeps the other free places for "
                  "other keys; send fewer at a time",
                  mine));
}

// The submissions of one call have one owner.
std::optional<ApiError> Ledger::check_share(const std::vector<Submission>& submissions) const {
  if (submissions.empty() || !submissions.front().rules) return {};
  const std::size_t most = submissions.front().rules->evaluations_at_once;
  auto held = held_by_.find(submissions.front().owner);
  std::size_t count = held == held_by_.end() ? 0 : held->second.count;
  const std::size_t before = count;
  for (const Submission& each : submissions) count += open_.contains(key_of(each)) ? 0 : 1;
  if (most == 0 || count <= most || count == before) return {};
  return ApiError{
      429, "quota",
      fmt::format("this key may have {} evaluations waiting or running (evaluations_at_once); it has "
                  "{}, and {} more were sent",
                  most, before, count - before),
      "", share_retry_s};
}

void Ledger::keep(const EntryPtr& entry) {
  if (!open_.emplace(entry->record.id, entry).second) return;
  Held& held = held_by_[std::string(owner_of(entry->record.id))];
  ++held.count;
  held.bytes += entry->bytes;
  open_bytes_ += entry->bytes;
}

void Ledger::lose(const Entry& entry) {
  if (open_.erase(entry.record.id) == 0) return;
  open_bytes_ -= entry.bytes;
  auto held = held_by_.find(std::string(owner_of(entry.record.id)));
  held->second.bytes -= entry.bytes;
  if (--held->second.count == 0) held_by_.erase(held);
}

int Ledger::seconds_until_room() const {
  double width = verifier_ ? static_cast<double>(std::max<std::size_t>(1, verifier_->width())) : 1;
  double tenth_s = metrics_.ran.mean() * static_cast<double>(queue_.size()) / width / 10;
  return static_cast<int>(std::ceil(std::clamp(tenth_s, 1.0, longest_retry_s)));
}

void Ledger::name_work(Entry& entry) const {
  entry.work_key = scoped_work(owner_of(entry.record.id), names_task(*entry.job),
                               verify::work_key(*entry.job, *verifier_));
}

EntryPtr Ledger::reserve(Submission submission, std::vector<NewRow>& rows) {
  auto entry = std::make_shared<Entry>();
  entry->bytes = weight(submission);
  entry->digest = std::move(submission.digest);
  entry->priority = submission.priority;
  entry->fresh = submission.fresh;
  entry->record.id = key_of(submission);
  entry->record.submitted_at_ms = clock_.now_ms();
  NewRow row{.id = entry->record.id,
             .digest = entry->digest,
             .submitted_at_ms = entry->record.submitted_at_ms,
             .deadline_at_ms = {},
             .request = std::move(submission.request),
             .task = submission.task ? pinned_text(*submission.task) : "",
             .owner = submission.owner,
             .try_of = submission.task && !submission.owner.empty() ? submission.task->version : ""};
  if (submission.rules) {
    row.most_a_day = submission.rules->evaluations_per_day;
    row.most_tries = submission.rules->tries_per_task;
  }
  if (submission.deadline_s) {
    auto ms = static_cast<std::int64_t>(*submission.deadline_s * 1000);
    entry->deadline = async::Deadline::in(std::chrono::milliseconds(ms));
    row.deadline_at_ms = row.submitted_at_ms + ms;
  }
  entry->job = std::make_shared<const Job>(std::move(submission.job));
  if (verifier_ != nullptr) name_work(*entry);
  if (!entry->fresh) row.work = entry->work_key;
  // Runs on the store's thread, so it captures only the immutable job.
  row.adapt = [job = entry->job](std::string_view known) { return shared_verdict_text(known, *job); };
  rows.push_back(std::move(row));
  keep(entry);
  return entry;
}

void Ledger::drop(const EntryPtr& entry) {
  if (entry->dropped) return;
  entry->dropped = true;
  lose(*entry);
  changed(*entry);
}

void Ledger::admit(const EntryPtr& entry, KeptRow kept) {
  entry->seq = kept.seq;
  if (kept.repeated) {
    entry->record = std::move(kept.record);
    entry->repeated = true;
    drop(entry);
    return;
  }
  entry->admitted = true;
  ++metrics_.submitted;
  if (is_over(kept.record.state)) {
    ++metrics_.shared;
    settle(entry, kept.record);
    return;
  }
  enter(entry);
  changed(*entry);
}

void Ledger::enter(const EntryPtr& entry) {
  // The verifier may have come while the entry was being stored.
  if (verifier_ != nullptr && entry->work_key.empty()) name_work(*entry);
  deadlines_.add(entry);
  if (!dispatcher_.join(entry)) queue_.push(entry);
}

// False if the entry was not stored.
async::Task<bool> Ledger::until_admitted(EntryPtr entry) {
  Watch watch(spawn_.loop(), watches_, {entry});
  while (!entry->admitted && !entry->dropped) co_await watch.wait(async::Deadline::never());
  co_return entry->admitted || entry->repeated;
}

async::Task<Answered<std::vector<Receipt>>> Ledger::submit(std::vector<Submission> submissions) {
  if (draining_) co_return refuse({503, "draining", "the service is shutting down", "", 5});
  if (auto refused = check_ids(submissions)) co_return refuse(std::move(*refused));
  if (auto refused = check_room(submissions)) co_return refuse(std::move(*refused));
  if (auto refused = check_share(submissions)) co_return refuse(std::move(*refused));
  const std::shared_ptr<const OwnerRules> rules = submissions.empty() ? nullptr : submissions.front().rules;
  Reserved mine(*this);
  Entries entries;
  std::vector<NewRow> rows;
  std::vector<std::size_t> places;  // the submission of each row
  for (Submission& each : submissions) {
    auto found = open_.find(key_of(each));
    bool is_new = found == open_.end();
    entries.push_back(is_new ? reserve(std::move(each), rows) : found->second);
    if (!is_new) continue;
    mine.entries.push_back(entries.back());
    places.push_back(entries.size() - 1);
  }
  if (!rows.empty()) {
    auto inserted = co_await store_.insert(std::move(rows));
    hooks_.wrote(inserted ? std::nullopt : std::optional(inserted.error()));
    if (!inserted) co_return refuse(broken_store(inserted.error()));
    if (inserted->spent) co_return refuse(quota_spent(*inserted->spent, *rules, clock_.now_ms()));
    if (inserted->conflict) {
      std::size_t place = places[*inserted->conflict];
      co_return refuse(conflict(place, entries[place]->record.id));
    }
    for (std::size_t i = 0; i < inserted->rows.size(); ++i)
      admit(mine.entries[i], std::move(inserted->rows[i]));
    pump();
  }
  std::vector<Receipt> receipts;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const EntryPtr& entry = entries[i];
    bool is_mine = std::ranges::binary_search(places, i);
    if (!is_mine && !co_await until_admitted(entry))
      co_return refuse({503, "store", "another submission of the same id failed", "", 1});
    Receipt receipt{entry->record.id, entry->record.state, {}, !is_mine || entry->repeated};
    if (receipt.state == State::queued) receipt.position = queue_.ahead_of(*entry);
    receipts.push_back(std::move(receipt));
  }
  co_return receipts;
}

async::Task<Answered<EndedPart>> Ledger::ended(EndPlace after, std::size_t most) {
  auto part = co_await store_.ended(after, most);
  if (!part) co_return refuse(broken_store(part.error()));
  co_return std::move(*part);
}

async::Task<Answered<EndedPart>> Ledger::ended_of(std::string owner, EndPlace after, std::size_t most) {
  auto part = co_await store_.ended(after, most, std::move(owner));
  if (!part) co_return refuse(broken_store(part.error()));
  co_return std::move(*part);
}

async::Task<Answered<std::vector<std::optional<EvaluationState>>>> Ledger::find(
    std::vector<std::string> ids) {
  std::vector<std::optional<EvaluationState>> records(ids.size());
  std::vector<std::string> missing;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (EntryPtr entry = open_entry(ids[i])) {
      records[i] = entry->record;
    } else if (const EvaluationState* record = shelf_.find(ids[i])) {
      records[i] = *record;
    } else {
      missing.push_back(std::move(ids[i]));
      places.push_back(i);
    }
  }
  if (missing.empty()) co_return records;
  auto found = co_await store_.find(std::move(missing));
  if (!found) co_return refuse(broken_store(found.error()));
  for (std::size_t i = 0; i < places.size(); ++i) records[places[i]] = std::move((*found)[i]);
  co_return records;
}

async::Task<Answered<std::vector<std::optional<EvaluationState>>>> Ledger::wait(std::vector<std::string> ids,
                                                                                async::Deadline deadline) {
  Entries entries;
  for (const std::string& id : ids) {
    entries.push_back(open_entry(id));
    // An evaluation that is not open is over or unknown, so the answer is final.
    if (!entries.back()) co_return co_await find(std::move(ids));
  }
  Watch watch(spawn_.loop(), watches_, std::move(entries));
  auto over = [](const EntryPtr& entry) { return is_over(entry->record.state); };
  while (!closed_ && !deadline.passed() && std::ranges::none_of(watch.entries(), over))
    co_await watch.wait(deadline);
  std::vector<std::optional<EvaluationState>> records;
  for (const EntryPtr& entry : watch.entries()) records.emplace_back(entry->record);
  co_return records;
}

async::Task<Answered<std::optional<EvaluationState>>> Ledger::cancel(std::string id, std::string cause) {
  std::vector<std::string> ids{id};
  if (EntryPtr entry = open_entry(id)) abandon(entry, cause);
  auto found = co_await wait(std::move(ids), async::Deadline::in(cancelling_limit));
  if (!found) co_return refuse(std::move(found.error()));
  co_return std::move(found->front());
}

}  // namespace kw::service
