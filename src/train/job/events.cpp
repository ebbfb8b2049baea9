#include "train/job/events.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/core/json.h"
#include "base/core/text.h"

namespace kw::training {
namespace {

namespace json = boost::json;

constexpr double max_count = 9e15;  // doubles represent whole numbers exactly up to here
constexpr std::size_t max_text_bytes = 16 * 1024;

std::optional<double> number(const json::object& object, std::string_view key) {
  auto value = number_at(object, key);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::uint64_t> count(const json::object& object, std::string_view key) {
  auto value = number(object, key);
  if (!value || *value < 0 || *value > max_count) return {};
  return static_cast<std::uint64_t>(*value);
}

std::string text(const json::object& object, std::string_view key) {
  return shorten(to_plain_text(string_at(object, key).value_or("")), max_text_bytes);
}

Counts counts(const json::object& object, std::string_view key) {
  Counts all;
  const json::value* list = object.if_contains(key);
  if (list == nullptr || !list->is_object()) return all;
  for (const auto& [name, value] : list->get_object())
    if (auto number = count(list->get_object(), name))
      all.emplace_back(shorten(to_plain_text(name), max_text_bytes), *number);
  return all;
}

std::optional<Event> packages(const json::object& object) {
  Packages packages;
  const json::value* list = object.if_contains("versions");
  if (list != nullptr && list->is_object())
    for (const auto& [name, value] : list->get_object())
      packages.versions.emplace_back(to_plain_text(name), text(list->get_object(), name));
  return packages;
}

std::optional<Event> data(const json::object& object) {
  auto rows = count(object, "rows");
  auto used = count(object, "used");
  auto tokens = count(object, "tokens");
  if (!rows || !used || !tokens) return {};
  return DataFacts{*rows,
                   *used,
                   counts(object, "dropped"),
                   counts(object, "cut"),
                   *tokens,
                   count(object, "learnt_tokens").value_or(0),
                   count(object, "tokens_cut").value_or(0),
                   count(object, "tokens_dropped").value_or(0),
                   count(object, "sequences").value_or(0),
                   count(object, "steps").value_or(0),
                   number(object, "share_filled")};
}

std::optional<Event> estimate(const json::object& object) {
  auto total = count(object, "total_bytes");
  if (!total) return {};
  return Estimate{counts(object, "parts"), *total, count(object, "limit_bytes"), bool_at(object, "fits")};
}

std::optional<Event> step(const json::object& object) {
  auto now = count(object, "step");
  auto of = count(object, "of");
  if (!now || !of) return {};
  return Step{*now,
              *of,
              number(object, "loss"),
              number(object, "learning_rate"),
              number(object, "gradient_norm"),
              number(object, "tokens_per_s"),
              number(object, "memory_bytes"),
              number(object, "remaining_s"),
              number(object, "epoch")};
}

std::optional<Event> validation_data(const json::object& object) {
  auto rows = count(object, "rows");
  auto used = count(object, "used");
  if (!rows || !used) return {};
  return ValidationFacts{*rows, *used, counts(object, "dropped")};
}

std::optional<Event> held_out_loss(const json::object& object) {
  auto now = count(object, "step");
  if (!now) return {};
  return HeldOutLoss{*now, number(object, "loss"), count(object, "best_step")};
}

std::optional<Event> warning(const json::object& object) {
  std::string what = text(object, "what");
  if (what.empty()) return {};
  return Warning{{what, text(object, "remedy")}};
}

std::optional<Event> problem(const json::object& object) {
  std::string what = text(object, "what");
  if (what.empty()) return {};
  return Problem{{what, text(object, "remedy")}, bool_at(object, "usage").value_or(false)};
}

std::optional<Event> event_of(std::string_view name, const json::object& object) {
  if (name == "packages") return packages(object);
  if (name == "data") return data(object);
  if (name == "estimate") return estimate(object);
  if (name == "step") return step(object);
  if (name == "validation_data") return validation_data(object);
  if (name == "validation") return held_out_loss(object);
  if (name == "warning") return warning(object);
  if (name == "checkpoint") return Checkpoint{text(object, "path"), count(object, "step").value_or(0)};
  if (name == "saved") return Saved{text(object, "path")};
  if (name == "notice") return Notice{text(object, "what")};
  if (name == "error") return problem(object);
  if (name == "done")
    return Done{count(object, "steps").value_or(0),
                number(object, "loss"),
                number(object, "seconds"),
                text(object, "path"),
                number(object, "validation_loss"),
                count(object, "best_step"),
                bool_at(object, "ended_early").value_or(false)};
  return Unknown{};
}

}  // namespace

Result<Told> parse_event(std::string_view line) {
  auto value = parse_json(line);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object()) return fail("not a JSON object");
  json::object& object = value->get_object();
  auto name = string_at(object, "event");
  if (!name) return fail("the event has no name");
  auto event = event_of(*name, object);
  if (!event) return fail(fmt::format("the event {} lacks a field", shorten(*name, 64)));
  return Told{std::move(*event), std::move(object)};
}

void EventLines::feed(std::string_view bytes, const std::function<void(std::string_view)>& line) {
  while (!bytes.empty()) {
    std::size_t end = bytes.find('\n');
    std::string_view part = bytes.substr(0, end);
    if (open_.size() + part.size() > max_line_bytes) too_long_ = true;
    if (too_long_)
      open_.clear();
    else
      open_ += part;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    end_line(line);
  }
}

void EventLines::end_line(const std::function<void(std::string_view)>& line) {
  if (std::exchange(too_long_, false))
    ++dropped_;
  else if (!open_.empty())
    line(open_);
  open_.clear();
}

std::string EventLines::take_rest() {
  if (std::exchange(too_long_, false)) ++dropped_;
  return std::exchange(open_, {});
}

namespace {

std::string now() {
  auto time = std::chrono::system_clock::now();
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)), ms);
}

// Whether the file ends without a line break.
bool is_torn(const Fd& fd) {
  off_t size = ::lseek(fd.get(), 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(fd.get(), &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

Result<EventLog> EventLog::open(const std::filesystem::path& file) {
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", file.string(), errno_text(errno)));
  if (is_torn(fd) && !write_all(fd.get(), "\n"))
    return fail(fmt::format("cannot write {}: {}", file.string(), errno_text(errno)));
  return EventLog(file, std::move(fd));
}

Result<> EventLog::add(boost::json::object event) {
  if (!fd_) return {};
  event["time"] = now();
  if (write_all(fd_.get(), boost::json::serialize(event) + "\n")) return {};
  int error = errno;
  fd_.reset();
  return fail(
      fmt::format("cannot write {}: {}; later events are not logged", path_.string(), errno_text(error)));
}

}  // namespace kw::training
