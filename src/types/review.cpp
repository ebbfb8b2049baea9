#include "types/review.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <set>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t longest_log = std::size_t{256} << 20;

Result<ReviewQueue> queue_of(const json::object& drawn) {
  ReviewQueue queue;
  auto count = count_at(drawn, "count");
  auto seed = count_at(drawn, "seed");
  const json::value* keys = drawn.if_contains("keys");
  if (!count || !seed || !keys || !keys->is_array()) return fail("a draw without count, seed or keys");
  queue.count = static_cast<std::size_t>(*count);
  queue.seed = static_cast<std::uint64_t>(*seed);
  queue.at = string_at(drawn, "at").value_or("");
  for (const json::value& key : keys->get_array())
    if (key.is_string()) queue.keys.emplace_back(key.get_string());
  return queue;
}

Result<ReviewEntry> entry_of(const json::object& line) {
  ReviewEntry entry;
  entry.answer = {string_at(line, "key").value_or(""), string_at(line, "task_id").value_or(""),
                  string_at(line, "candidate_sha256").value_or(""), string_at(line, "row_id").value_or("")};
  entry.reviewer = string_at(line, "reviewer").value_or("");
  entry.note = string_at(line, "note").value_or("");
  entry.at = string_at(line, "at").value_or("");
  if (entry.answer.key.empty()) return fail("no key");
  const json::value* label = line.if_contains("label");
  if (!label || label->is_null()) return entry;
  if (label->is_string()) entry.label = review_label(label->get_string());
  if (!entry.label) return fail("its label is none of the labels");
  return entry;
}

// Collects lines; a later entry of the same reviewer for the same answer replaces the earlier one.
class LogReader {
 public:
  void add(std::string_view text, std::size_t number) {
    if (trim(text).empty()) return;
    auto value = parse_json(text);
    if (!value || !value->is_object()) return refuse(number, "not a JSON object");
    const json::object& line = value->get_object();
    if (const json::value* drawn = line.if_contains("drawn")) {
      auto queue = drawn->is_object() ? queue_of(drawn->get_object()) : fail("a draw is no JSON object");
      if (!queue) return refuse(number, queue.error().what);
      return log_.queues.push_back(std::move(*queue));
    }
    auto entry = entry_of(line);
    if (!entry) return refuse(number, entry.error().what);
    auto id = std::pair(entry->answer.key, entry->reviewer);
    latest_[std::move(id)] = {number, std::move(*entry)};
  }

  ReviewLog take() {
    std::map<std::size_t, ReviewEntry*> in_order;
    for (auto& [id, each] : latest_)
      if (each.second.label) in_order.emplace(each.first, &each.second);
    for (auto& [number, entry] : in_order) log_.entries.push_back(std::move(*entry));
    return std::move(log_);
  }

 private:
  void refuse(std::size_t number, std::string_view why) {
    log_.problems.push_back(fmt::format("line {}: {}", number, why));
  }

  ReviewLog log_;
  std::map<std::pair<std::string, std::string>, std::pair<std::size_t, ReviewEntry>> latest_;
};

}  // namespace

std::optional<ReviewLabel> review_label(std::string_view word) {
  std::string small = lower(trim(word));
  std::ranges::replace_if(small, [](char c) { return c == '-' || c == ' '; }, '_');
  return from_string<ReviewLabel>(small);
}

std::optional<bool> accepts(ReviewLabel label) {
  if (label == ReviewLabel::unsure) return {};
  return label == ReviewLabel::good || label == ReviewLabel::keep;
}

const ReviewQueue* ReviewLog::queue(std::size_t count, std::uint64_t seed) const {
  auto is_it = [&](const ReviewQueue& each) { return each.count == count && each.seed == seed; };
  auto found = std::ranges::find_if(queues, is_it);
  return found == queues.end() ? nullptr : &*found;
}

ReviewLabels::ReviewLabels(const ReviewLog& log) {
  std::set<std::pair<std::string, std::string>> seen;  // of an answer, its reviewers
  auto add = [&](Found& found, const std::string& id, const ReviewEntry& entry) {
    found.label = *entry.label;
    if (seen.emplace(id, entry.reviewer).second) ++found.reviewers;
  };
  for (const ReviewEntry& entry : log.entries) {
    const ReviewedAnswer& answer = entry.answer;
    if (!answer.row_id.empty())
      add(rows_[answer.row_id], "row " + answer.row_id, entry);
    else if (!answer.candidate_sha256.empty())
      add(answers_[{answer.task_id, answer.candidate_sha256}],
          fmt::format("{} {}", answer.candidate_sha256, answer.task_id), entry);
  }
}

std::optional<ReviewLabels::Found> ReviewLabels::of_answer(std::string_view task_id,
                                                           std::string_view candidate_sha256) const {
  auto found = answers_.find(std::pair(std::string(task_id), std::string(candidate_sha256)));
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ReviewLabels::Found> ReviewLabels::of_row(std::string_view row_id) const {
  auto found = rows_.find(row_id);
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

fs::path review_log_path(const fs::path& of) {
  std::error_code ignored;
  if (fs::is_directory(of, ignored)) return of / "review.jsonl";
  if (of.filename() == "run.db") return of.parent_path() / "review.jsonl";
  return of.string() + ".review.jsonl";
}

Result<ReviewLog> read_review_log(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return ReviewLog{};
  // A pipe would wait for its writer, and a device may have no end.
  if (!fs::is_regular_file(path, ignored))
    return fail(fmt::format("cannot read {}: not a regular file", path.string()), "move it away");
  auto text = read_file(path, longest_log);
  if (!text) return std::unexpected(text.error());
  LogReader reader;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text->size();) {
    std::size_t end = std::min(text->find('\n', at), text->size());
    reader.add(std::string_view(*text).substr(at, end - at), ++number);
    at = end + 1;
  }
  return reader.take();
}

}  // namespace kw
