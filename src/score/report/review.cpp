#include "score/report/review.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <map>
#include <set>

#include "base/core/json.h"
#include "base/core/text.h"
#include "score/metrics/paired.h"
#include "score/report/result.h"
#include "score/report/review_sheet.h"
#include "score/report/static_checks.h"
#include "score/report/view.h"
#include "verify/explain/words.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

constexpr std::size_t longest_named_key = 80;

// Such as "wrong: failed (compile_error). A kernel does not compile.", followed by the error.
std::string verdict_words(const VerdictFacts& facts) {
  auto status = from_string<Status>(facts.status);
  if (!status) return fmt::format("{}: {}", to_string(facts.standing), facts.status);
  bool is_right = *status == Status::correct;
  std::string_view why = is_right ? facts.counts_reason : facts.error_class;
  std::string_view sentence =
      is_right ? explain::sentence_of<CountsReason>(why) : explain::sentence_of<ErrorClass>(why);
  return fmt::format("{}: {}. {} {}", to_string(facts.standing),
                     explain::in_short(*status, facts.counts_reason.empty(), why), sentence, facts.why);
}

std::string findings_of(const ScoredAnswer& record) {
  std::string text;
  if (record.verdict.by != JudgedBy::nobody) text = trim(verdict_words(record.verdict));
  if (record.idioms)
    text += fmt::format("{}static checks: {}", text.empty() ? "" : "; ", state_words(*record.idioms));
  return text;
}

std::string status_of(const ScoredAnswer& record) {
  if (record.verdict.by != JudgedBy::nobody) return std::string(to_string(record.verdict.standing));
  if (!record.idioms) return "not judged";
  if (!record.idioms->state)
    return record.idioms->is_good ? "static checks passed" : "static checks not passed";
  return fmt::format("static checks: {}", to_string(*record.idioms->state));
}

std::vector<score::ReviewTarget> targets_of(std::span<const Output> outputs) {
  std::vector<score::ReviewTarget> targets;
  for (const Output& output : outputs) {
    if (!output.record.is_scored) continue;
    score::ReviewTarget target;
    target.target = output.record.target;
    target.status = status_of(output.record);
    target.source = output.record.source;
    target.text = output.code;
    target.findings = findings_of(output.record);
    targets.push_back(std::move(target));
  }
  return targets;
}

json::array reviews_json(const std::vector<Review>& reviews) {
  json::array list;
  for (const Review& review : reviews)
    list.push_back(json::object{{"target", review.target},
                                {"reviewer", review.reviewer},
                                {"label", to_string(review.label)},
                                {"note", review.note},
                                {"at", review.at}});
  return list;
}

std::vector<Review> reviews_of(View review) {
  std::vector<Review> reviews;
  for (View one : review["reviews"].list()) {
    auto label = review_label(one["label"].text());
    if (!label) continue;
    reviews.push_back(
        {one["target"].text(), one["reviewer"].text(), *label, one["note"].text(), one["at"].text()});
  }
  return reviews;
}

void add_kappa(const score::Agreement& found, json::object& to) {
  to["raw"] = scoring::to_json(found.raw, 0.95);
  to["expected"] = found.expected;
  to["kappa"] = value_or_null(found.kappa);
  to["kappa_words"] = found.kappa_words;
}

json::object agreement_json(const char* with, const std::vector<score::Judged>& judged) {
  score::Agreement found = score::agreement(judged);
  json::object object{{"with", with},
                      {"pairs", judged.size()},
                      {"both_good", found.both_good},
                      {"only_automatic", found.only_automatic},
                      {"only_person", found.only_person},
                      {"both_bad", found.both_bad}};
  add_kappa(found, object);
  return object;
}

// The judgements of one reviewer: target -> accepted. Labels that decide nothing are left out.
using Judgements = std::map<std::string, bool>;

json::object pair_json(const std::string& first, const Judgements& of_first, const std::string& second,
                       const Judgements& of_second) {
  std::vector<score::Judged> judged;
  for (const auto& [target, accepted] : of_first)
    if (auto other = of_second.find(target); other != of_second.end())
      judged.push_back({accepted, other->second});
  score::Agreement found = score::agreement(judged);
  json::object object{{"reviewers", json::array{first, second}},
                      {"pairs", judged.size()},
                      {"both_good", found.both_good},
                      {"only_first", found.only_automatic},
                      {"only_second", found.only_person},
                      {"both_bad", found.both_bad}};
  add_kappa(found, object);
  return object;
}

// One reviewer's labels, with their agreement with the checks and the verdicts of the same answers.
json::object reviewer_json(const std::string& name, const std::vector<Review>& reviews,
                           const std::map<std::string, const ScoredAnswer*>& records) {
  std::vector<score::Judged> by_tree;
  std::vector<score::Judged> by_verdict;
  std::map<std::string, std::size_t> labels;
  std::size_t given = 0;
  for (const Review& review : reviews) {
    if (review.reviewer != name) continue;
    ++given;
    ++labels[std::string(to_string(review.label))];
    auto place = records.find(review.target);
    if (place == records.end()) continue;
    const ScoredAnswer& record = *place->second;
    auto person = accepts(review.label);
    if (!person) continue;
    // An unproven answer is no judgement, as the label unsure is none.
    if (auto good = record.idioms ? judgement_of(*record.idioms) : std::nullopt)
      by_tree.push_back({*good, *person});
    if (record.verdict.standing != score::Standing::unknown)
      by_verdict.push_back({record.verdict.standing == score::Standing::right, *person});
  }
  json::object counts;
  for (const auto& [label, count] : labels) counts[label] = count;
  json::array agreements;
  if (!by_tree.empty()) agreements.push_back(agreement_json("static checks", by_tree));
  if (!by_verdict.empty()) agreements.push_back(agreement_json("verdicts", by_verdict));
  return {{"reviewer", name},
          {"labels_given", given},
          {"labels", std::move(counts)},
          {"agreement", std::move(agreements)}};
}

json::array reviewers_json(const std::vector<Review>& reviews, const std::vector<ScoredAnswer>& records) {
  std::map<std::string, const ScoredAnswer*> by_target;
  for (const ScoredAnswer& record : records) by_target[record.target] = &record;
  std::map<std::string, bool> names;
  for (const Review& review : reviews) names[review.reviewer] = true;
  json::array list;
  for (const auto& [name, present] : names) list.push_back(reviewer_json(name, reviews, by_target));
  return list;
}

// Finds the record that an entry of a review log is about.
class RecordFinder {
 public:
  explicit RecordFinder(const std::vector<ScoredAnswer>& records) {
    for (const ScoredAnswer& record : records) {
      targets_.emplace(record.target, &record);
      if (!record.row_id.empty()) rows_.emplace(record.row_id, &record);
      answers_.emplace(std::pair(record.task_id, record.answer_sha256), &record);
    }
  }

  // Null if the result has no such answer.
  const ScoredAnswer* find(const ReviewedAnswer& answer) const {
    if (!answer.row_id.empty()) return at(rows_, answer.row_id);
    if (!answer.candidate_sha256.empty())
      return at(answers_, std::pair(answer.task_id, answer.candidate_sha256));
    return at(targets_, answer.key);
  }

 private:
  template <typename Key>
  static const ScoredAnswer* at(const std::map<Key, const ScoredAnswer*>& from, const Key& key) {
    auto found = from.find(key);
    return found == from.end() ? nullptr : found->second;
  }

  std::map<std::string, const ScoredAnswer*> targets_;
  std::map<std::string, const ScoredAnswer*> rows_;
  std::map<std::pair<std::string, std::string>, const ScoredAnswer*> answers_;
};

// The labels of a log that `view` wrote, as those of a sheet.
Result<score::ReviewRead> read_log(const std::filesystem::path& path,
                                   const std::vector<ScoredAnswer>& records) {
  auto log = read_review_log(path);
  if (!log) return std::unexpected(log.error());
  RecordFinder finder(records);
  score::ReviewRead read;
  read.problems = std::move(log->problems);
  for (const ReviewEntry& entry : log->entries) {
    const ScoredAnswer* record = finder.find(entry.answer);
    if (record)
      read.reviews.push_back({record->target, entry.reviewer, *entry.label, entry.note, entry.at});
    else
      read.problems.push_back(fmt::format("'{}' is no answer of this result",
                                          to_plain_text(shorten(entry.answer.key, longest_named_key))));
  }
  return read;
}

// The review of a result that was scored without --review and takes the labels of a log.
json::object review_without_sheet(const std::vector<Review>& reviews) {
  json::array targets;
  std::set<std::string> seen;
  for (const Review& review : reviews)
    if (seen.insert(review.target).second) targets.emplace_back(review.target);
  return {{"csv", nullptr},          {"markdown", nullptr},
          {"seed", nullptr},         {"asked", 0},
          {"drawn", targets.size()}, {"findings_shown", false},
          {"strata", json::array()}, {"targets", std::move(targets)}};
}

}  // namespace

json::array reviewer_pairs_json(std::span<const Review> reviews) {
  std::map<std::string, Judgements> by_reviewer;
  for (const Review& review : reviews)
    if (auto accepted = accepts(review.label)) by_reviewer[review.reviewer][review.target] = *accepted;
  json::array list;
  for (auto first = by_reviewer.begin(); first != by_reviewer.end(); ++first)
    for (auto second = std::next(first); second != by_reviewer.end(); ++second)
      list.push_back(pair_json(first->first, first->second, second->first, second->second));
  return list;
}

Result<> write_review(std::span<const Output> outputs, const ReviewRequest& request, json::object& result) {
  std::vector<score::ReviewTarget> targets = targets_of(outputs);
  score::Draw draw = score::draw(targets, request.count, request.seed);
  score::SheetOptions options{"Review of scored answers", request.show_findings};
  if (auto written = score::write_review_csv(targets, draw, options, request.csv); !written) return written;
  if (auto written = score::write_review_markdown(targets, draw, options, request.markdown); !written)
    return written;
  json::array strata;
  for (const score::Stratum& stratum : draw.strata)
    strata.push_back(json::object{{"status", stratum.status},
                                  {"source", stratum.source},
                                  {"size", stratum.size},
                                  {"drawn", stratum.drawn}});
  json::array drawn;
  for (std::size_t number : draw.chosen) drawn.emplace_back(targets[number].target);
  result["review"] = json::object{{"csv", request.csv.filename().string()},
                                  {"markdown", request.markdown.filename().string()},
                                  {"seed", draw.seed},
                                  {"asked", request.count},
                                  {"drawn", drawn.size()},
                                  {"findings_shown", request.show_findings},
                                  {"strata", std::move(strata)},
                                  {"targets", std::move(drawn)},
                                  {"without_label", draw.chosen.size()},
                                  {"problems", json::array()},
                                  {"reviews", json::array()},
                                  {"reviewers", json::array()},
                                  {"between_reviewers", json::array()}};
  return {};
}

Result<> take_review(const std::filesystem::path& sheet, json::object& result) {
  auto records = records_of(result);
  if (!records) return std::unexpected(records.error());
  const bool is_log = sheet.extension() == ".jsonl";
  const bool was_drawn = result.contains("review") && result.at("review").is_object();
  if (!is_log && !was_drawn)
    return fail("the result has no review", "score again with --review N, which writes a sheet");
  View review = View(result)["review"];
  std::vector<std::string> known;
  for (View target : review["targets"].list()) known.push_back(target.text());
  auto read = is_log ? read_log(sheet, *records) : score::read_review(sheet, known);
  if (!read) return std::unexpected(read.error());
  std::vector<Review> reviews = score::merged(reviews_of(review), read->reviews);
  if (!was_drawn) result["review"] = review_without_sheet(reviews);
  json::object& into = result["review"].get_object();
  into["without_label"] = read->without_label;
  into["problems"] = json::array(read->problems.begin(), read->problems.end());
  into["reviews"] = reviews_json(reviews);
  into["reviewers"] = reviewers_json(reviews, *records);
  into["between_reviewers"] = reviewer_pairs_json(reviews);
  return {};
}

}  // namespace kw::scoring
