#include "remote/request.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "base/hash.h"
#include "schema/json.h"
#include "schema/options.h"

namespace kw::remote {

namespace json = boost::json;

json::object request_of(const Job& job, const JobOptions& options, bool fresh) {
  json::object request{{"task_id", job.task.task_id},
                       {"sample_number", job.sample_number},
                       {"reference_code", job.task.reference_code},
                       {"kernel_code", job.candidate.code},
                       {"options", options_json(options)}};
  auto put = [&](const char* name, const std::string& text) {
    if (!text.empty()) request[name] = text;
  };
  put("entry_point", job.task.entry_point);
  put("kernel_entry", job.candidate.entry);
  put("kernel_name", job.candidate.kernel_name);
  if (auto shapes = parse_json(job.task.input_shapes); shapes && !job.task.input_shapes.empty())
    request["input_shapes"] = std::move(*shapes);
  if (fresh) request["fresh"] = true;
  return request;
}

std::string work_name(const std::string& run, const std::string& row, const json::object& request) {
  return sha256_hex_of({run, row, json::serialize(request)});
}

std::string evaluation_id(const std::string& work, unsigned tried) {
  constexpr std::size_t digits = 32;
  return fmt::format("kw-{}", sha256_hex_of({work, fmt::format("{}", tried)}).substr(0, digits));
}

}  // namespace kw::remote
