#include "view/review_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <set>
#include <unordered_map>

#include "base/core/display.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "report/model/index.h"
#include "score/report/review.h"
#include "score/report/review_sheet.h"
#include "types/job.h"
#include "types/trace.h"

namespace kw::view {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_name = 80;
constexpr std::size_t longest_note = 4'000;
constexpr std::size_t most_draws = 100;  // in a log: further ones are drawn anew each time

json::array words_json() {
  json::array words;
  for (ReviewLabel label : page_labels) words.emplace_back(to_string(label));
  return words;
}

std::vector<std::string> draw_keys(const Edition& edition, const QueueRequest& request) {
  std::vector<score::ReviewTarget> targets;
  for (const RowFacts& row : edition.rows) {
    score::ReviewTarget target;
    target.target = row.key;
    target.status = row.status;
    target.source = fmt::format("{}/{}", row.source, row.task_source);
    targets.push_back(std::move(target));
  }
  std::vector<std::string> keys;
  for (std::size_t chosen : score::draw(targets, request.count, request.seed).chosen)
    keys.push_back(targets[chosen].target);
  return keys;
}

std::vector<Review> reviews_of(const std::vector<ReviewEntry>& entries) {
  std::vector<Review> reviews;
  for (const ReviewEntry& entry : entries)
    reviews.push_back({entry.answer.key, entry.reviewer, *entry.label, entry.note, entry.at});
  return reviews;
}

json::object labels_json(const std::vector<ReviewEntry>& entries, std::string_view reviewer) {
  json::object labels;
  for (const ReviewEntry& entry : entries)
    if (entry.reviewer == reviewer)
      labels[entry.answer.key] = json::object{{"label", to_string(*entry.label)}, {"note", entry.note}};
  return labels;
}

json::array reviewers_json(const std::vector<ReviewEntry>& entries) {
  std::set<std::string> names;
  for (const ReviewEntry& entry : entries) names.insert(entry.reviewer);
  return json::array(names.begin(), names.end());
}

Result<std::string> text_of(const json::object& body, const char* field, std::size_t longest) {
  auto text = string_at(body, field);
  if (!text) return fail(fmt::format("{} is not a text", field));
  if (text->size() > longest) return fail(fmt::format("{} has more than {} bytes", field, longest));
  return std::move(*text);
}

// The turn that represents the trace, and the number of its round.
ShownAnswer best_answer(const Trace& trace) {
  ShownAnswer shown;
  shown.answer.task_id = trace.task.task_id;
  const Conversation* round = best_round(trace);
  const Turn* turn = round ? best_turn(*round) : nullptr;
  if (!turn) return shown;
  shown.round = static_cast<std::size_t>(round - trace.rounds.data()) + 1;
  shown.turn = turn->turn;
  shown.answer.candidate_sha256 = candidate_sha256(turn->code);
  return shown;
}

Result<ShownAnswer> answer_of(const json::object& detail) {
  if (const json::object* trace = object_at(detail, "trace")) {
    auto read = trace_from_json(*trace);
    if (!read) return std::unexpected(read.error());
    return best_answer(*read);
  }
  ShownAnswer shown;
  if (const json::object* verdict = object_at(detail, "verdict")) {
    shown.answer.task_id = string_at(*verdict, "task_id").value_or("");
    shown.answer.candidate_sha256 = string_at(*verdict, "candidate_sha256").value_or("");
  } else if (const json::object* row = object_at(detail, "row")) {
    shown.answer.task_id = string_at(*row, "task_id").value_or("");
    shown.answer.row_id = string_at(*row, "id").value_or("");
    if (const json::object* metadata = object_at(*row, "metadata"); metadata && shown.answer.row_id.empty())
      shown.answer.row_id = string_at(*metadata, "id").value_or("");
  }
  return shown;
}

}  // namespace

Result<LabelRequest> read_label(std::string_view body) {
  auto parsed = parse_json(body);
  if (!parsed || !parsed->is_object()) return fail("the body is not a JSON object");
  const json::object& object = parsed->get_object();
  LabelRequest request;
  auto key = text_of(object, "key", longest_note);
  auto reviewer = text_of(object, "reviewer", longest_name);
  if (!key) return std::unexpected(key.error());
  if (!reviewer) return std::unexpected(reviewer.error());
  if (trim(*reviewer).empty() || visible_line(*reviewer) != *reviewer)
    return fail("reviewer is not a name: give letters on one line");
  request.key = std::move(*key);
  request.reviewer = trim(*reviewer);
  if (const json::value* note = object.if_contains("note"); note && !note->is_null()) {
    auto text = text_of(object, "note", longest_note);
    if (!text) return std::unexpected(text.error());
    request.note = std::move(*text);
  }
  const json::value* label = object.if_contains("label");
  if (!label || label->is_null()) return request;
  if (label->is_string()) request.label = review_label(label->get_string());
  if (!request.label || std::ranges::find(page_labels, *request.label) == page_labels.end())
    return fail("label is none of the page's labels");
  return request;
}

Result<ShownAnswer> shown_answer(std::string_view detail) {
  auto value = parse_json(detail);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object()) return fail("the detail is not a JSON object");
  auto shown = answer_of(value->get_object());
  if (shown) shown->answer.key = string_at(value->get_object(), "key").value_or("");
  return shown;
}

const std::filesystem::path& ReviewDesk::log_of(std::size_t source) const {
  return logs_[std::min(source, logs_.size() - 1)];
}

Result<json::object> ReviewDesk::queue(const Edition& edition, const QueueRequest& request) const {
  std::vector<ReviewEntry> entries;
  std::vector<std::string> keys;
  bool is_drawn = false;
  std::size_t draws = 0;
  std::set<std::filesystem::path> read;
  for (std::size_t source = 0; source < logs_.size(); ++source) {
    const std::filesystem::path& path = logs_[source];
    if (!read.insert(path).second) continue;
    auto log = read_review_log(path);
    if (!log) return std::unexpected(log.error());
    draws = std::max(draws, log->queues.size());
    // The draw of several inputs is in the log of the first.
    if (const ReviewQueue* drawn = log->queue(request.count, request.seed); drawn && path == logs_.front()) {
      keys = drawn->keys;
      is_drawn = true;
    }
    for (ReviewEntry& entry : log->entries) {
      entry.answer.key = report::key_prefix(source) + entry.answer.key;
      entries.push_back(std::move(entry));
    }
  }
  if (!is_drawn) {
    keys = draw_keys(edition, request);
    if (!keys.empty() && draws < most_draws)
      if (auto stored = append_queue(logs_.front(), {request.count, request.seed, keys, utc_now()}); !stored)
        return std::unexpected(stored.error());
  }
  std::set<std::string_view> present;
  for (const RowFacts& row : edition.rows) present.insert(row.key);
  std::erase_if(keys, [&](const std::string& key) { return !present.contains(key); });
  return json::object{{"keys", json::array(keys.begin(), keys.end())},
                      {"labels", labels_json(entries, request.reviewer)},
                      {"words", words_json()},
                      {"reviewers", reviewers_json(entries)},
                      {"agreement", scoring::reviewer_pairs_json(reviews_of(entries))}};
}

Result<> ReviewDesk::store(const Edition& edition, const LabelRequest& request,
                           const ReviewedAnswer& answer) const {
  auto row = std::ranges::find(edition.rows, request.key, &RowFacts::key);
  if (row == edition.rows.end()) return fail("the key is none of this page's rows");
  ReviewEntry entry{answer, request.reviewer, request.label, request.note, utc_now()};
  std::string prefix = report::key_prefix(row->source);
  entry.answer.key = request.key.starts_with(prefix) ? request.key.substr(prefix.size()) : request.key;
  return append_review(log_of(row->source), entry);
}

}  // namespace kw::view
