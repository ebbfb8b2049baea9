#include "schema/options_json.h"

namespace kw {

namespace json = boost::json;

json::object options_json(const JobOptions& options) {
  json::object object;
  auto put = [&](const char* name, const auto& option) {
    if (option) object[name] = *option;
  };
  put("correctness_trials", options.correctness_trials);
  put("timing_trials", options.timing_trials);
  put("timing_precision", options.timing_precision);
  put("precision", options.precision);
  put("tf32", options.tf32);
  put("move_weights", options.move_weights);
  put("timeout_s", options.timeout_s);
  if (!options.tolerance) return object;
  if (options.tolerance->name == "custom")
    object["tolerance"] = json::object{{"rtol", options.tolerance->rtol}, {"atol", options.tolerance->atol}};
  else
    object["tolerance"] = options.tolerance->name;
  return object;
}

}  // namespace kw
