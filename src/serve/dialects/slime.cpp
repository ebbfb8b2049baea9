// slime and miles: {"prompt", "response", "label"}, where the label names the task. The answer is a number,
// or an object of which --reward-key names the number. Their clients take every status but 200 as a failure.
#include "serve/dialects/dialect.h"
#include "serve/endpoints.h"
#include "serve/evaluation_json.h"

namespace kw::service {
namespace {

namespace json = boost::json;

Answered<std::vector<json::object>> read_slime(const json::object& theirs) {
  const json::value* response = given(theirs, "response");
  if (response == nullptr || !response->is_string())
    return refuse(unprocessable("response", "is not a text: give the model's answer"));
  auto fields = task_of_label(theirs.if_contains("label"), "label");
  if (!fields) return refuse(std::move(fields.error()));
  (*fields)["completion"] = *response;
  return std::vector{std::move(*fields)};
}

http::Response reward_alone(const json::object&, const std::vector<Judged>& judged) {
  const Judged& one = judged.front();
  return one.reward ? json_response(200, json::value(*one.reward)) : not_judged_response(one);
}

http::Response reward_object(const json::object&, const std::vector<Judged>& judged) {
  const Judged& one = judged.front();
  if (!one.reward) return not_judged_response(one);
  return json_response(200, json::object{{"reward", *one.reward},
                                         {"correct", correct_number(one)},
                                         {"status", to_string(one.verdict->status)},
                                         {"evaluation", one.evaluation}});
}

}  // namespace

using namespace std::chrono_literals;

// slime waits 120 s and tries ten times; miles tries once, with aiohttp's limit of 300 s.
const Dialect slime{
    .name = "slime", .path = "/slime", .patience = 110s, .read = read_slime, .answer = reward_object};
const Dialect slime_number{
    .name = "slime", .path = "/slime/number", .patience = 110s, .read = read_slime, .answer = reward_alone};
const Dialect miles{
    .name = "miles", .path = "/miles", .patience = 285s, .read = read_slime, .answer = reward_object};
const Dialect miles_number{
    .name = "miles", .path = "/miles/number", .patience = 285s, .read = read_slime, .answer = reward_alone};

}  // namespace kw::service
