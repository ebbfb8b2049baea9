#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "schema/json.h"
#include "service/kernelgym_json.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr int urgent = 10;

Refusal wrong(std::string_view field, std::string_view why) {
  return {400, "invalid", fmt::format("{} {}", field, why), std::string(field)};
}

const json::value* given(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && !value->is_null() ? value : nullptr;
}

// Names of theirs → ours. A bad value is then refused by our name.
void take(const json::object& theirs, std::string_view name, json::object& ours, std::string_view as) {
  if (const json::value* value = given(theirs, name)) ours[as] = *value;
}

Answered<int> priority_of(const json::object& theirs) {
  const json::value* value = given(theirs, "priority");
  if (!value || *value == "normal") return 0;
  if (*value == "high") return urgent;
  if (*value == "low") return -urgent;
  return refuse(wrong("priority", "is none of low, normal, high"));
}

Answered<std::chrono::seconds> timeout_of(const json::object& theirs) {
  const json::value* value = given(theirs, "timeout");
  if (!value) return KernelGymRequest().timeout;
  if (value->is_int64() && value->get_int64() >= 1 && value->get_int64() <= 3600)
    return std::chrono::seconds(value->get_int64());
  return refuse(wrong("timeout", "is not a whole number from 1 to 3600"));
}

// Nothing is lost of what they say, and what is not ours stands apart from our own names.
json::object others_of(const json::object& theirs) {
  json::object others = theirs;
  for (std::string_view key :
       {"task_id", "reference_code", "kernel_code", "entry_point", "num_correct_trials", "num_perf_trials",
        "timeout", "priority", "force_refresh", "workflow"})
    others.erase(key);
  return others;
}

}  // namespace

Answered<KernelGymRequest> kernelgym_request(const json::object& theirs) {
  const json::value* workflow = given(theirs, "workflow");
  if (workflow && *workflow != "kernelbench")
    return refuse(wrong("workflow", "is not kernelbench, the only one that this service knows"));
  if (!given(theirs, "task_id")) return refuse(wrong("task_id", "is missing"));
  auto priority = priority_of(theirs);
  if (!priority) return refuse(std::move(priority.error()));
  auto timeout = timeout_of(theirs);
  if (!timeout) return refuse(std::move(timeout.error()));
  std::string entry = string_at(theirs, "entry_point").value_or("Model");
  json::object options{{"timeout_s", timeout->count()}};
  take(theirs, "num_correct_trials", options, "correctness_trials");
  take(theirs, "num_perf_trials", options, "timing_trials");
  KernelGymRequest request{{{"entry_point", entry},
                            {"kernel_entry", entry + "New"},
                            {"priority", *priority},
                            {"options", std::move(options)}},
                           *timeout};
  take(theirs, "task_id", request.fields, "id");
  take(theirs, "reference_code", request.fields, "reference_code");
  take(theirs, "kernel_code", request.fields, "kernel_code");
  take(theirs, "force_refresh", request.fields, "fresh");
  request.fields["kernelgym"] = others_of(theirs);
  return request;
}

}  // namespace kw::service
