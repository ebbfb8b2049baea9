#include "verify/remote/evaluation.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "base/core/crypto.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "types/job.h"
#include "types/options.h"

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

namespace {

namespace json = boost::json;

constexpr std::size_t longest_shown = 80;

std::string shown_field(std::string_view text) {
  return to_plain_text(shorten(text, longest_shown));
}

Result<> check_names(const Verdict& verdict, const Job& job, const std::string& protocol) {
  if (std::string ours = candidate_sha256(job.candidate.code); verdict.candidate_sha256 != ours)
    return fail(fmt::format("its verdict is for a different candidate: {}, not {}",
                            shown_field(verdict.candidate_sha256), ours));
  if (verdict.task_id != job.task.task_id)
    return fail(fmt::format("its verdict is for a different task: {}, not {}", shown_field(verdict.task_id),
                            shown_field(job.task.task_id)));
  if (protocol.empty() || verdict.environment.protocol == protocol) return {};
  return fail(fmt::format("its verdict has the protocol {}, not {}",
                          shown_field(verdict.environment.protocol), protocol),
              "the service restarted with other settings or on another machine: repeat this command, "
              "or use equal settings and GPUs on all its machines");
}

// Keeps fields of a newer service that this version does not know.
void keep_unknown(const json::object& fields, Verdict& verdict) {
  static const json::object known = to_json(Verdict());
  for (const auto& [key, value] : fields)
    if (!known.contains(key)) verdict.further[key] = value;
}

}  // namespace

Result<Verdict> read_verdict(const json::object& evaluation, const Job& job, const std::string& protocol) {
  const json::value* fields = evaluation.if_contains("verdict");
  if (fields == nullptr || !fields->is_object()) return fail("its state is \"done\" without a verdict");
  auto verdict = verdict_from_json(fields->get_object());
  if (!verdict) return fail("its verdict cannot be read: " + verdict.error().what);
  if (auto checked = check_names(*verdict, job, protocol); !checked) return std::unexpected(checked.error());
  keep_unknown(fields->get_object(), *verdict);
  restamp(*verdict, job);
  return verdict;
}

Verdict no_verdict(const Job& job, const std::string& protocol, const Error& why) {
  Verdict verdict = kw::no_verdict(job, why.remedy.empty() ? why.what : why.what + "; " + why.remedy);
  verdict.environment.protocol = protocol;
  return verdict;
}

}  // namespace kw::remote
