#include "remote/verdict_reader.h"

#include <fmt/format.h>

#include "base/text.h"
#include "schema/json.h"
#include "schema/restamp.h"

namespace kw::remote {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_shown = 80;

std::string shown(std::string_view text) {
  return to_plain_text(shorten(text, longest_shown));
}

Result<> check_names(const Verdict& verdict, const Job& job, const std::string& protocol) {
  if (std::string ours = candidate_sha256(job.candidate.code); verdict.candidate_sha256 != ours)
    return fail(fmt::format("its verdict is of another candidate: {}, not {}",
                            shown(verdict.candidate_sha256), ours));
  if (verdict.task_id != job.task.task_id)
    return fail(fmt::format("its verdict is of another task: {}, not {}", shown(verdict.task_id),
                            shown(job.task.task_id)));
  if (protocol.empty() || verdict.environment.protocol == protocol) return {};
  return fail(fmt::format("its verdict was made under the protocol {}, not {}",
                          shown(verdict.environment.protocol), protocol),
              "the service was started anew with other settings or on another machine: start this anew too, "
              "or let all its machines be alike");
}

// Fields that a newer service has and we do not know are handed on.
void keep_unknown(const json::object& fields, Verdict& verdict) {
  static const json::object known = to_json(Verdict());
  for (const auto& [key, value] : fields)
    if (!known.contains(key)) verdict.further[key] = value;
}

}  // namespace

Result<Verdict> read_verdict(const json::object& evaluation, const Job& job, const std::string& protocol) {
  const json::value* fields = evaluation.if_contains("verdict");
  if (fields == nullptr || !fields->is_object()) return fail("it says \"done\" and gives no verdict");
  auto verdict = verdict_from_json(fields->get_object());
  if (!verdict) return fail("it gives a verdict that cannot be read: " + verdict.error().what);
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
