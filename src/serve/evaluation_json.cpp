#include "serve/evaluation_json.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "base/core/crypto.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "code/answers/extraction.h"
#include "serve/hidden_reference.h"
#include "types/job.h"
#include "types/options.h"
#include "types/reward.h"
#include "types/verdict.h"

namespace kw::service {

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

Answered<JobOptions> read_options(const boost::json::value& value) {
  if (!value.is_object()) return refuse({400, "invalid", "options is not an object", "options"});
  auto options = read_job_options(value.get_object());
  if (options) return std::move(*options);
  std::string field = fmt::format("options.{}", options.error().field);
  return refuse({400, "invalid", fmt::format("{} {}", field, options.error().why), field});
}

namespace {

namespace json = boost::json;

constexpr std::size_t longest_id = 256;
constexpr std::size_t longest_name = 1024;
constexpr int most_urgent = 100;
constexpr std::size_t most_carried_bytes = std::size_t{256} << 10;
constexpr double longest_deadline_s = 366.0 * 24 * 3600;

// Fields that become part of the submission; others are carried through.
constexpr std::array ours{"id",           "task_id",     "reference_code", "kernel_code", "completion",
                          "input_shapes", "entry_point", "kernel_entry",   "kernel_name", "sample_number",
                          "priority",     "deadline_s",  "fresh",          "options"};

// Converts sizes like 4.0 to 4, since later readers require integers.
json::value with_whole_sizes(json::value shapes) {
  if (!shapes.is_object()) return shapes;
  for (auto& input : shapes.get_object()) {
    json::value* shape =
        input.value().is_object() ? input.value().get_object().if_contains("shape") : nullptr;
    if (shape == nullptr || !shape->is_array()) continue;
    for (json::value& size : shape->get_array())
      if (auto number = integer_of(size)) size = *number;
  }
  return shapes;
}

// Reads fields and keeps the first error.
class Reader {
 public:
  explicit Reader(const json::object& fields) : fields_(fields) {}

  bool has(std::string_view key) const { return given(fields_, key) != nullptr; }

  std::string text(std::string_view key, std::size_t longest) {
    const json::value* value = given(fields_, key);
    if (!value) return {};
    if (!value->is_string()) return bad(key, "is not a string");
    if (characters(value->get_string()) > longest)
      return bad(key, fmt::format("is longer than {} characters", longest));
    return std::string(value->get_string());
  }

  std::string code(std::string_view key) {
    const json::value* value = given(fields_, key);
    if (!value) return bad(key, "is missing");
    if (!value->is_string()) return bad(key, "is not a string");
    if (value->get_string().empty()) return bad(key, "is empty");
    return std::string(value->get_string());
  }

  // A completion without code is accepted: its empty candidate gets a verdict.
  std::string candidate() {
    const json::value* completion = given(fields_, "completion");
    if (!completion) return code("kernel_code");
    if (given(fields_, "kernel_code")) return bad("completion", "excludes kernel_code: give one of them");
    if (!completion->is_string()) return bad("completion", "is not a string");
    return extract_answered_code(completion->get_string());
  }

  // Only checks the terms: they are carried through, and the verdict replaces them with the reward.
  void reward() {
    const json::value* terms = given(fields_, "reward");
    if (!terms) return;
    if (auto good = reward_terms_from_json(*terms); !good) bad("reward", good.error().what, true);
  }

  std::int64_t whole(std::string_view key, std::int64_t least, std::int64_t most) {
    const json::value* value = given(fields_, key);
    if (!value) return 0;
    auto number = integer_of(*value);
    if (number && *number >= least && *number <= most) return *number;
    bad(key, fmt::format("is not a whole number from {} to {}", least, most));
    return 0;
  }

  std::optional<double> positive(std::string_view key, double most) {
    const json::value* value = given(fields_, key);
    if (!value) return {};
    double number = value->is_number() ? value->to_number<double>() : 0;
    if (number > 0 && number <= most) return number;
    bad(key, fmt::format("is not a number above 0 and at most {}", most));
    return {};
  }

  bool flag(std::string_view key) {
    const json::value* value = given(fields_, key);
    if (!value) return false;
    if (value->is_bool()) return value->get_bool();
    bad(key, "is neither true nor false");
    return false;
  }

  std::string shapes(std::string_view key) {
    const json::value* value = given(fields_, key);
    if (!value) return {};
    json::value shapes = with_whole_sizes(*value);
    if (auto good = check_input_shapes(shapes); !good) return bad(key, good.error().what, true);
    return json::serialize(shapes);
  }

  JobOptions options(std::string_view key) {
    const json::value* value = given(fields_, key);
    if (!value) return {};
    auto options = read_options(*value);
    if (options) return std::move(*options);
    if (!trouble_) trouble_ = std::move(options.error());
    return {};
  }

  std::string bad(std::string_view key, std::string_view why, bool says_all = false) {
    if (!trouble_)
      trouble_ = ApiError{400, "invalid", says_all ? std::string(why) : fmt::format("{} {}", key, why),
                          std::string(key)};
    return {};
  }

  std::optional<ApiError>& trouble() { return trouble_; }

 private:
  const json::object& fields_;
  std::optional<ApiError> trouble_;
};

// These ids would name other endpoints, or are not usable as a path.
constexpr std::array reserved_ids{".", "..", "batch", "poll"};

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string read_id(Reader& reader) {
  std::string id = reader.text("id", longest_id);
  if (reader.has("id") && id.empty()) reader.bad("id", "is empty");
  if (has_control_character(id)) reader.bad("id", "has a control character");
  if (std::ranges::find(reserved_ids, id) != reserved_ids.end())
    reader.bad("id", "is reserved by the service");
  return id;
}

// The task of a request that names it by id; its reference, inputs and entry cannot be changed.
KnownTaskPtr named_task(Reader& reader, const FindTask& find_task) {
  std::string id = reader.text("task_id", longest_name);
  std::string version = reader.text("task_version", longest_name);
  for (std::string_view fixed : {"input_shapes", "entry_point"})
    if (reader.has(fixed)) reader.bad(fixed, "belongs to the task that task_id names: leave it out");
  if (reader.trouble()) return nullptr;
  auto found = find_task(id, version);
  if (found) return std::move(*found);
  reader.trouble() = std::move(found.error());
  return nullptr;
}

void take_named(const KnownTask& known, Job& job) {
  job.task = known.task;
  job.task.source = catalogue_source;
}

// The task that the request contains.
void read_task(Reader& reader, bool may_name, Task& task) {
  task.source = "service";
  if (may_name && !reader.has("reference_code"))
    reader.bad("reference_code", "is missing: give it, or the task_id of a task of this service");
  task.reference_code = reader.code("reference_code");
  task.input_shapes = reader.shapes("input_shapes");
  task.entry_point = reader.text("entry_point", longest_name);
  task.task_id = reader.text("task_id", longest_name);
  reader.text("task_version", longest_name);  // carried through
}

// Hashes long texts directly instead of serializing them as JSON. The content of a task that is named by id
// is no part: a request that is repeated after a change of the task finds its evaluation and the old version.
std::string digest_of(const json::object& fields, const Job& job) {
  json::object rest;
  for (const auto& [key, value] : fields)
    if (key != "reference_code" && key != "kernel_code" && !value.is_null()) rest.emplace(key, value);
  // As text, since the order of the inputs is significant, unlike that of other members.
  if (names_task(job)) return sha256_hex_of({"", job.candidate.code, canonical_json(rest)});
  if (!job.task.input_shapes.empty()) rest["input_shapes"] = job.task.input_shapes;
  return sha256_hex_of({job.task.reference_code, job.candidate.code, canonical_json(rest)});
}

// Limits the carried fields, since every verdict repeats them.
std::optional<ApiError> heaviest(const json::object& carried, std::size_t request_bytes) {
  if (request_bytes <= most_carried_bytes) return {};
  std::size_t all = 0;
  std::size_t most = 0;
  std::string name;
  for (const auto& [key, value] : carried) {
    std::size_t bytes = json::serialize(value).size();
    all += bytes;
    if (bytes < most) continue;
    most = bytes;
    name = key;
  }
  if (all <= most_carried_bytes) return {};
  return ApiError{400, "invalid",
                  fmt::format("the additional fields take {} bytes, the limit is {}: omit {}", all,
                              most_carried_bytes, name),
                  name};
}

}  // namespace

std::string new_id(std::string_view prefix) {
  std::string id(prefix);
  for (char c : random_bytes(12)) id += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return id;
}

Answered<json::object> read_object(std::string_view body) {
  auto value = parse_json(body);
  if (!value && !is_utf8(body)) return refuse({400, "invalid", "the body is not UTF-8"});
  if (!value) return refuse({400, "invalid", "the body is " + value.error().what});
  if (!value->is_object()) return refuse({400, "invalid", "the body is not a JSON object"});
  return std::move(value->get_object());
}

const json::value* given(const json::object& fields, std::string_view key) {
  const json::value* value = fields.if_contains(key);
  return value && !value->is_null() ? value : nullptr;
}

Answered<Submission> read_submission(json::object fields, std::string text, const FindTask& find_task) {
  Submission submission;
  Reader reader(fields);
  Job& job = submission.job;
  job.id = read_id(reader);
  if (find_task && !reader.has("reference_code") && reader.has("task_id"))
    submission.task = named_task(reader, find_task);
  else
    read_task(reader, find_task != nullptr, job.task);
  if (submission.task) take_named(*submission.task, job);
  job.candidate.code = reader.candidate();
  job.candidate.entry = reader.text("kernel_entry", longest_name);
  job.candidate.kernel_name = reader.text("kernel_name", longest_name);
  job.sample_number = static_cast<std::size_t>(reader.whole("sample_number", 0, INT32_MAX));
  job.options = reader.options("options");
  submission.priority = static_cast<int>(reader.whole("priority", -most_urgent, most_urgent));
  submission.deadline_s = reader.positive("deadline_s", longest_deadline_s);
  submission.fresh = reader.flag("fresh");
  reader.reward();
  if (reader.trouble()) return refuse(std::move(*reader.trouble()));
  if (job.id.empty()) job.id = new_id("ev-");
  if (job.task.task_id.empty())
    job.task.task_id = hashed_task_id(job.task.reference_code, job.task.input_shapes, job.task.entry_point);
  submission.digest = digest_of(fields, job);
  submission.request = text.empty() ? json::serialize(fields) : std::move(text);
  for (std::string_view key : ours) fields.erase(key);
  if (submission.task) fields["task_version"] = submission.task->version;
  if (auto heavy = heaviest(fields, submission.request.size())) return refuse(std::move(*heavy));
  job.carried = std::move(fields);
  return submission;
}

namespace {

// The request states the terms of the reward; the verdict replaces them with the reward.
boost::json::value reward_json(const Verdict& verdict, const boost::json::value& asked) {
  auto terms = reward_terms_from_json(asked);
  auto reward = terms ? reward_of(verdict, *terms) : std::nullopt;
  return reward ? boost::json::value(*reward) : boost::json::value(nullptr);
}

}  // namespace

std::string verdict_text(Verdict verdict, const Job& job) {
  restamp(verdict, job);
  if (names_task(job)) hide_reference(verdict);
  boost::json::object carried = job.carried;
  if (boost::json::value* reward = carried.if_contains("reward"); reward && !reward->is_null())
    *reward = reward_json(verdict, *reward);
  return boost::json::serialize(output_object(verdict, carried));
}

std::string shared_verdict_text(std::string_view known, const Job& job) {
  auto value = parse_json(known);
  if (!value || !value->is_object()) return verdict_text(no_verdict(job, "the store is damaged"), job);
  auto verdict = verdict_from_json(value->get_object());
  if (!verdict) return verdict_text(no_verdict(job, verdict.error().what), job);
  return verdict_text(std::move(*verdict), job);
}

}  // namespace kw::service
