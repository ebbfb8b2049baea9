#include "dataset/labels/answers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>

#include "base/core/crypto.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"

namespace kw::labels {
namespace {

namespace json = boost::json;
using corpus::CompileLabel;

constexpr std::size_t longest_reason = 300;

std::string one_line(std::string_view text) {
  std::string plain = shorten(to_plain_text(text), longest_reason);
  std::ranges::replace(plain, '\n', ' ');
  std::ranges::replace(plain, '\t', ' ');
  return plain;
}

json::array launches_of(const corpus::Unit& unit) {
  json::array launches;
  for (const corpus::Launch& launch : unit.launches) {
    json::array arguments;
    for (const corpus::Argument& argument : launch.arguments)
      arguments.push_back(json::object{{"name", to_utf8(argument.name)}, {"text", to_utf8(argument.text)}});
    launches.push_back(
        json::object{{"caller_text", to_utf8(launch.caller_text)}, {"arguments", std::move(arguments)}});
  }
  return launches;
}

}  // namespace

std::string job_line(const corpus::Unit& unit) {
  json::array missing;
  for (const std::string& name : unit.missing) missing.emplace_back(to_utf8(name));
  bool triton = unit.kind == corpus::UnitKind::triton;
  return canonical_json(json::object{{"kind", triton ? "triton" : "cuda"},
                                     {"name", to_utf8(unit.name)},
                                     {"text", to_utf8(unit.text)},
                                     {"context", to_utf8(unit.context)},
                                     {"missing", std::move(missing)},
                                     {"launches", launches_of(unit)}});
}

std::string job_key(std::string_view job, const CompileOptions& options, std::string_view triton) {
  return sha256_hex_of(
      {label_version, triton, fmt::format("{}", fmt::join(options.targets, ",")), options.nvcc, job});
}

std::vector<std::string> target_names(const CompileOptions& options) {
  std::vector<std::string> names;
  for (unsigned target : options.targets) names.push_back(fmt::format("sm_{}", target));
  return names;
}

std::optional<Answer> read_answer(std::string_view text, const std::vector<std::string>& targets) {
  if (!is_utf8(text)) return {};
  auto value = parse_json(text);
  if (!value || !value->is_object()) return {};
  const json::object& object = value->as_object();
  auto word = string_at(object, "compile");
  auto reason = string_at(object, "reason");
  auto label = word ? from_string<corpus::CompileLabel>(*word) : std::nullopt;
  const json::value* built = object.if_contains("compiled_for");
  if (!label || !reason || built == nullptr || !built->is_array()) return {};
  Answer answer{*label, one_line(*reason), {}};
  if (built->as_array().size() > targets.size()) return {};
  for (const json::value& each : built->as_array()) {
    if (!each.is_string()) return {};
    std::string name(each.as_string());
    if (std::ranges::find(targets, name) == targets.end()) return {};
    if (std::ranges::find(answer.compiled_for, name) != answer.compiled_for.end()) return {};
    answer.compiled_for.push_back(std::move(name));
  }
  if ((answer.label == CompileLabel::compilable) == answer.compiled_for.empty()) return {};
  std::ranges::sort(answer.compiled_for);
  return answer;
}

std::optional<Reply> read_reply(std::string_view line) {
  auto value = parse_json(line);
  if (!value || !value->is_object()) return {};
  const json::object& object = value->as_object();
  const json::value* number = object.if_contains("number");
  auto how = string_at(object, "how");
  auto answer = string_at(object, "answer");
  if (number == nullptr || !number->is_int64() || number->as_int64() < 0 || !how || !answer) return {};
  return Reply{static_cast<std::size_t>(number->as_int64()), *how, *answer};
}

Answer answer_of(const Reply& reply, const std::vector<std::string>& targets) {
  if (reply.how != "answered") return {CompileLabel::not_tried, one_line(reply.how), {}};
  return read_answer(reply.answer, targets)
      .value_or(Answer{CompileLabel::not_tried, "its answer cannot be read", {}});
}

namespace {

namespace json = boost::json;

std::string line_of(const std::string& key, const Answer& answer) {
  json::array built(answer.compiled_for.begin(), answer.compiled_for.end());
  return canonical_json(json::object{{"key", key},
                                     {"compile", to_string(answer.label)},
                                     {"reason", answer.reason},
                                     {"compiled_for", std::move(built)}}) +
         "\n";
}

}  // namespace

Result<AnswerCache> AnswerCache::open(const std::filesystem::path& path,
                                      const std::vector<std::string>& targets) {
  AnswerCache cache;
  if (path.empty()) return cache;
  cache.path_ = path;
  cache.file_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!cache.file_)
    return fail(fmt::format("cannot open {}: {}", path.string(), errno_text(errno)), "check --cache");
  auto text = read_file(path);
  if (!text) return std::unexpected(text.error());
  std::string_view rest = *text;
  // A truncated last line must not merge with the next one.
  if (!rest.empty() && !rest.ends_with('\n') && ::write(cache.file_.get(), "\n", 1) != 1)
    return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  while (!rest.empty()) {
    std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    auto value = parse_json(line);
    if (!value || !value->is_object()) continue;
    auto key = string_at(value->as_object(), "key");
    auto answer = read_answer(line, targets);
    if (key && answer) cache.answers_.insert_or_assign(*key, std::move(*answer));
  }
  return cache;
}

const Answer* AnswerCache::find(const std::string& key) const {
  auto found = answers_.find(key);
  return found == answers_.end() ? nullptr : &found->second;
}

Result<> AnswerCache::keep(const std::string& key, const Answer& answer) {
  if (!file_) return {};
  std::string line = line_of(key, answer);
  // One write() per line, since two builds may share the file.
  if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return fail(fmt::format("cannot write {}: {}", path_.string(), errno_text(errno)),
                "check that the disk is not full");
  answers_.insert_or_assign(key, answer);
  return {};
}

}  // namespace kw::labels
