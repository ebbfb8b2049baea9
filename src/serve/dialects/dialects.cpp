#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/core/crypto.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "serve/dialects/dialect.h"
#include "serve/endpoints.h"
#include "serve/evaluation_json.h"
#include "types/reward.h"

namespace kw::service {

namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr std::array<const Dialect*, 7> all_dialects{&slime,    &slime_number, &miles,  &miles_number,
                                                     &openrlhf, &nemo_gym,     &openenv};

constexpr std::array task_keys{"task_id",     "task_version", "reference_code", "input_shapes",
                               "entry_point", "kernel_entry", "kernel_name",    "options"};

// What a URL may set, and the owner for whom the operator sends a request.
constexpr std::array url_terms{"base", "cap", "min_trust", "require", "patience_s", "owner"};

constexpr double longest_patience_s = 3600;
constexpr auto first_retry_pause = 250ms;
constexpr auto longest_retry_pause = 10'000ms;
constexpr std::size_t id_digits = 32;
constexpr std::size_t longest_word = 60;  // of a client, in an answer

}  // namespace

ApiError unprocessable(std::string_view field, std::string_view why) {
  return {422, "invalid", fmt::format("{} {}", field, why), std::string(field)};
}

json::object task_fields(const json::object& row) {
  json::object fields;
  for (std::string_view key : task_keys)
    if (const json::value* value = given(row, key)) fields[key] = *value;
  return fields;
}

Answered<json::object> task_of_label(const json::value* label, std::string_view field) {
  constexpr std::string_view wanted =
      "give the id of a task of this service, or an object with task_id or reference_code";
  auto of_object = [&](const json::object& object) -> Answered<json::object> {
    json::object fields = task_fields(object);
    if (fields.contains("task_id") || fields.contains("reference_code")) return fields;
    return refuse(unprocessable(field, fmt::format("names no task: {}", wanted)));
  };
  if (label == nullptr || label->is_null())
    return refuse(unprocessable(field, fmt::format("is missing: {}", wanted)));
  if (label->is_object()) return of_object(label->get_object());
  if (!label->is_string() || trim(label->get_string()).empty())
    return refuse(unprocessable(field, fmt::format("is neither a text nor an object: {}", wanted)));
  std::string_view text = trim(label->get_string());
  if (!text.starts_with('{')) return json::object{{"task_id", text}};
  auto parsed = parse_json(text);
  if (!parsed) return refuse(unprocessable(field, "is " + parsed.error().what));
  if (!parsed->is_object()) return refuse(unprocessable(field, "is not a JSON object"));
  return of_object(parsed->get_object());
}

double correct_number(const Judged& judged) {
  return judged.verdict && correct_and_counts(*judged.verdict) ? 1 : 0;
}

http::Response not_judged_response(const Judged& judged) {
  if (judged.is_final) return refusal_response({422, "not_judged", judged.why});
  return refusal_response({503, "not_judged", judged.why, "", 5});
}

namespace {

// What the URL sets for all requests to it, since trainers configure nothing else: "?cap=3&patience_s=60".
struct UrlSettings {
  json::object reward;
  json::object options;
  std::optional<double> patience_s;
};

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return {};
  return number;
}

bool is_patience(double seconds) {
  return seconds > 0 && seconds <= longest_patience_s;
}

ApiError bad_patience(std::string_view field) {
  return {400, "invalid", fmt::format("{} is not a number above 0 and at most {}", field, longest_patience_s),
          std::string(field)};
}

// Nobody sees the default terms that a slip would leave in force.
std::optional<ApiError> unknown_term(const Call& call) {
  for (const std::string& name : call.parameters()) {
    if (std::ranges::find(url_terms, name) != url_terms.end()) continue;
    const std::string shown = shorten(to_plain_text(name), longest_word);
    return ApiError{
        400, "invalid",
        fmt::format("\"{}\" is no parameter of this URL: it takes {}", shown, fmt::join(url_terms, ", ")),
        shown};
  }
  return {};
}

Answered<UrlSettings> settings_of(const Call& call) {
  if (auto refusal = unknown_term(call)) return refuse(std::move(*refusal));
  UrlSettings settings;
  for (std::string_view term : {"base", "cap"}) {
    auto text = call.parameter(term);
    if (!text) continue;
    auto number = number_in(*text);
    if (!number) return refuse({400, "invalid", fmt::format("{} is not a number", term), std::string(term)});
    settings.reward[term] = *number;
  }
  if (auto trust = call.parameter("min_trust")) settings.reward["min_trust"] = *trust;
  if (auto require = call.parameter("require")) settings.options["require"] = *require;
  if (auto text = call.parameter("patience_s")) {
    settings.patience_s = number_in(*text);
    if (!settings.patience_s || !is_patience(*settings.patience_s)) return refuse(bad_patience("patience_s"));
  }
  // A request may have no sample, which would be checked with them.
  if (auto terms = reward_terms_from_json(settings.reward); !terms)
    return refuse({400, "invalid", terms.error().what});
  if (auto options = read_options(settings.options); !options) return refuse(std::move(options.error()));
  return settings;
}

// The evaluations of one request, and until when the trainer waits.
struct Order {
  json::object theirs;
  std::vector<json::object> evaluations;
  std::vector<std::string> ids;  // equal for equal content
  async::Deadline deadline;
};

// The id of equal content: a retry finds the evaluation. The task's version is a part, since an id of a task
// may mean another task after a restart. So are the caller's credentials: clients with different keys do
// not share an id.
std::string content_id(const Dialect& dialect, const http::Headers& headers, const json::object& fields) {
  std::string digest = sha256_hex_of(
      {canonical_json(fields), http::header(headers, "Authorization"), http::header(headers, "X-API-Key")});
  return fmt::format("{}-{}", dialect.name, std::string_view(digest).substr(0, id_digits));
}

std::optional<ApiError> complete_fields(const UrlSettings& settings, const FindTask& find_task,
                                        json::object& fields) {
  if (!given(fields, "reference_code")) {
    auto known =
        find_task(string_at(fields, "task_id").value_or(""), string_at(fields, "task_version").value_or(""));
    if (!known) return known.error();
    fields["task_version"] = (*known)->version;
  }
  fields["reward"] = settings.reward;
  if (settings.options.empty()) return {};
  json::object options = settings.options;  // the request's own are stronger
  if (const json::object* own = object_at(fields, "options"))
    for (const auto& [key, value] : *own) options[key] = value;
  fields["options"] = std::move(options);
  return {};
}

Answered<async::Deadline> deadline_of(const Dialect& dialect, const UrlSettings& settings,
                                      const json::object& theirs) {
  double seconds = static_cast<double>(dialect.patience.count());
  if (settings.patience_s) seconds = *settings.patience_s;
  if (const json::value* own = dialect.patience_key.empty() ? nullptr : given(theirs, dialect.patience_key)) {
    seconds = own->is_number() ? own->to_number<double>() : 0;
    if (!is_patience(seconds)) return refuse(bad_patience(dialect.patience_key));
  }
  return deadline_after(seconds);
}

Answered<Order> order_of(const Dialect& dialect, const Call& call) {
  auto settings = settings_of(call);
  if (!settings) return refuse(std::move(settings.error()));
  auto theirs = json_body(call);
  if (!theirs) return refuse(std::move(theirs.error()));
  auto deadline = deadline_of(dialect, *settings, *theirs);
  if (!deadline) return refuse(std::move(deadline.error()));
  auto evaluations = dialect.read(*theirs);
  if (!evaluations) return refuse(std::move(evaluations.error()));
  Order order{std::move(*theirs), std::move(*evaluations), {}, *deadline};
  for (json::object& each : order.evaluations) {
    if (auto refusal = complete_fields(*settings, call.find_task, each)) return refuse(std::move(*refusal));
    order.ids.push_back(content_id(dialect, call.request.headers, each));
  }
  return order;
}

// Waits, or ends early if the client disconnects.
async::Task<Answered<bool>> rest_for(std::chrono::milliseconds pause) {
  co_await async::sleep_until(async::Deadline::in(pause));
  co_return true;
}

bool can_wait_out(const ApiError& refusal) {
  return refusal.error_class == "queue_full" || refusal.error_class == "store";
}

// Submits it; a full queue and a store that cannot be written are waited out.
async::Task<Answered<Receipt>> submit_patiently(const DialectParts& parts, const Call& call,
                                                const json::object& fields, async::Deadline deadline) {
  while (true) {
    auto read = co_await parts.workbench.result_of<Answered<Submission>>(
        call.request.body.size(), [&] { return read_submission(fields, {}, call.find_task); });
    if (!read) co_return refuse(std::move(read.error()));
    std::vector<Submission> one;
    one.push_back(std::move(*read));
    auto receipts = co_await call.evaluations->submit(std::move(one));
    if (receipts) co_return std::move(receipts->front());
    if (!can_wait_out(receipts.error())) co_return refuse(std::move(receipts.error()));
    const auto pause = std::chrono::seconds(std::max(1, receipts.error().retry_after_s));
    if (async::Deadline::in(pause).at >= deadline.at) co_return refuse(std::move(receipts.error()));
    if (auto rested = co_await unless_gone(call, rest_for(pause)); !rested)
      co_return refuse(std::move(rested.error()));
  }
}

Judged judged_of(const EvaluationState& record) {
  Judged judged{.evaluation = std::string(public_id(record.id)), .verdict = {}, .reward = {}};
  if (record.state != State::done || !record.verdict) {
    judged.is_final = false;
    judged.why = is_over(record.state)
                     ? fmt::format("the evaluation {} was cancelled: {}", judged.evaluation, record.cause)
                     : fmt::format("the evaluation {} is still {}; the same request again waits for it",
                                   judged.evaluation, to_string(record.state));
    return judged;
  }
  auto value = parse_json(*record.verdict);
  if (value && value->is_object())
    if (auto verdict = verdict_from_json(value->get_object())) judged.verdict = std::move(*verdict);
  if (judged.verdict) judged.reward = number_at(value->get_object(), "reward");
  if (judged.reward) return judged;
  judged.is_final = judged.verdict && judged.verdict->fault == Fault::task;
  judged.why = fmt::format("the evaluation {} gave no reward: {}", judged.evaluation,
                           judged.verdict ? judged.verdict->error.value_or("the service could not judge it")
                                          : "its verdict is damaged");
  return judged;
}

// One evaluation until its reward, a fault of its task, or the deadline. After a fault of the infrastructure
// it is judged again under the next id of a fixed sequence, so that every retry follows the same sequence.
async::Task<Answered<Judged>> judge_patiently(const DialectParts& parts, const Call& call,
                                              json::object fields, std::string id, async::Deadline deadline) {
  std::chrono::milliseconds pause = first_retry_pause;
  for (int attempt = 1;; ++attempt) {
    std::string own = attempt == 1 ? id : fmt::format("{}-{}", id, attempt);
    fields["id"] = own;
    auto receipt = co_await submit_patiently(parts, call, fields, deadline);
    if (!receipt) co_return refuse(std::move(receipt.error()));
    auto found = co_await unless_gone(call, call.evaluations->wait({own}, deadline));
    if (!found) co_return refuse(std::move(found.error()));
    if (found->empty() || !found->front())
      co_return refuse({503, "not_judged", fmt::format("the evaluation {} is gone", own), "", 5});
    Judged judged = judged_of(*found->front());
    if (judged.is_final) co_return judged;
    if (!is_over(found->front()->state) || deadline.passed()) co_return judged;
    if (receipt->repeated && is_over(receipt->state)) continue;  // of an earlier request: not worth a pause
    if (async::Deadline::in(pause).at >= deadline.at) co_return judged;
    if (auto rested = co_await unless_gone(call, rest_for(pause)); !rested)
      co_return refuse(std::move(rested.error()));
    pause = std::min(pause * 2, std::chrono::milliseconds(longest_retry_pause));
  }
}

async::Task<http::Response> answer_dialect(const Dialect* dialect, std::shared_ptr<const DialectParts> parts,
                                           const Call& call) {
  auto order = co_await parts->workbench.result_of<Answered<Order>>(call.request.body.size(),
                                                                    [&] { return order_of(*dialect, call); });
  if (!order) co_return refusal_response(order.error());
  // Several are judged side by side: all are submitted before the first is waited for.
  for (std::size_t i = 0; order->ids.size() > 1 && i < order->ids.size(); ++i) {
    json::object fields = order->evaluations[i];
    fields["id"] = order->ids[i];
    auto receipt = co_await submit_patiently(*parts, call, fields, order->deadline);
    if (!receipt) co_return refusal_response(receipt.error());
  }
  std::vector<Judged> judged;
  for (std::size_t i = 0; i < order->ids.size(); ++i) {
    auto one = co_await judge_patiently(*parts, call, std::move(order->evaluations[i]), order->ids[i],
                                        order->deadline);
    if (!one) co_return refusal_response(one.error());
    judged.push_back(std::move(*one));
  }
  co_return dialect->answer(order->theirs, judged);
}

}  // namespace

void add_dialects(Routes& routes, const DialectParts& parts) {
  auto shared = std::make_shared<const DialectParts>(parts);
  for (const Dialect* each : all_dialects) {
    for (std::string_view path : {each->path, each->other_path})
      if (!path.empty())
        routes.add({"POST", std::string(path),
                    [each, shared](const Call& call) { return answer_dialect(each, shared, call); }, false,
                    true});
    if (each->add_others != nullptr) each->add_others(routes, parts);
  }
}

}  // namespace kw::service
