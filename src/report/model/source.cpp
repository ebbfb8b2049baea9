#include "report/model/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "report/model/fill.h"

namespace kw::report {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

constexpr std::size_t most_messages = 20;
constexpr std::size_t longest_message = 500;
constexpr std::size_t longest_fact = 2000;
constexpr std::size_t longest_key = 200;

}  // namespace

Source::Source(SourceParts parts) : parts_(std::move(parts)), redactor_(parts_.options->redact) {
  facts_.name = parts_.name;
  facts_.kind = parts_.found.kind;
}

void Source::clear() {
  facts_.state = SourceState::finished;
  facts_.messages.clear();
  table_ = {};
  left_out_.clear();
  keys_ = {};
  messages_ = 0;
}

Result<> Source::read(const Sink& sink) {
  clear();
  facts_.facts.clear();
  redactor_ = Redactor(parts_.options->redact);
  read_at_ = stamp();
  return read_all(sink);
}

bool Source::refresh() {
  std::string now = stamp();
  if (now == read_at_) return false;
  read_at_ = std::move(now);
  read_changes();
  return true;
}

void Source::read_changes() {
  clear();
  facts_.facts.clear();
  // Without a sink nothing can fail.
  if (auto read = read_all({}); !read) damaged(read.error().what);
}

std::string Source::stamp() const {
  return file_stamp(path());
}

std::string Source::file_stamp(const fs::path& file) {
  std::error_code error;
  auto size = fs::file_size(file, error);
  if (error) return "none;";
  return fmt::format("{} {};", size, fs::last_write_time(file, error).time_since_epoch().count());
}

void Source::damaged(const std::string& message) {
  facts_.state = SourceState::damaged;
  note(message);
}

void Source::note(const std::string& message) {
  ++messages_;
  if (messages_ > most_messages) {
    facts_.messages.resize(most_messages);
    facts_.messages.push_back(fmt::format("and {} more", messages_ - most_messages));
    return;
  }
  // A secret that is cut would no longer be found.
  facts_.messages.push_back(shorten(redactor_.text(to_plain_text(message)), longest_message));
}

void Source::fact(std::string_view name, const json::value& value) {
  if (value.is_null() || facts_.facts.contains(name)) return;
  bool is_text = value.is_string() || value.is_structured();
  if (options().redact && is_text && is_prompt_name(name)) return;
  json::value scalar = value;
  if (value.is_structured()) scalar = json::value(json::serialize(value));
  if (scalar.is_string()) {
    if (scalar.get_string().empty()) return;
    scalar = json::string(shorten(redactor_.setting(scalar.get_string()), longest_fact));
  }
  facts_.facts.emplace(redactor_.replaces() ? redactor_.text(name) : std::string(name), std::move(scalar));
}

void Source::flat_facts(const std::string& prefix, const json::object& object) {
  for (const auto& member : object) {
    std::string name = prefix.empty() ? std::string(member.key())
                                      : fmt::format("{}.{}", prefix, std::string_view(member.key()));
    if (member.value().is_object())
      flat_facts(name, member.value().get_object());
    else
      fact(name, member.value());
  }
}

void Source::environment_facts(const Verdict& verdict) {
  const Environment& environment = verdict.environment;
  auto add = [&](std::string_view name, const std::optional<std::string>& text) {
    if (text) fact(name, json::value(*text));
  };
  add("gpu", environment.gpu);
  add("driver", environment.driver);
  add("cuda", environment.cuda);
  add("torch", environment.torch);
  add("triton", environment.triton);
  add("verdicts.program_version", environment.program_version);
  add("protocol", environment.protocol);
}

void Source::clean_settings(json::object& settings) {
  for (auto& setting : settings)
    if (setting.value().is_string())
      setting.value() = json::string(redactor_.setting(setting.value().get_string()));
}

std::string Source::unique_key(std::string_view name) {
  std::string key = redactor_.replaces() ? redactor_.text(name) : to_utf8(name);
  if (key.size() > longest_key) key = shorten(key, longest_key / 2) + sha256_hex(key).substr(0, 16);
  std::size_t earlier = keys_.next(key);
  return parts_.prefix + (earlier == 0 ? key : fmt::format("{}@{}", key, earlier + 1));
}

bool Source::leave_out(const std::string& licence) {
  if (options().include_restricted || !is_restricted(licence)) return false;
  ++left_out_[shorten(redactor_.text(licence), longest_key)];
  return true;
}

std::size_t Source::add_row(const std::string& key) {
  std::size_t row = table_.rows.add();
  table_.rows.key.set(row, key);
  table_.counts.emplace_back();
  return row;
}

namespace {

class UnreadableSource : public Source {
 public:
  UnreadableSource(SourceParts parts, const Error& error)
      : Source(std::move(parts)),
        why_(error.remedy.empty() ? error.what : fmt::format("{} ({})", error.what, error.remedy)) {
    damaged(why_);
  }
  Result<> read_all(const Sink&) override {
    damaged(why_);
    return {};
  }
  Result<json::object> detail(std::size_t) override { return fail("it has no rows"); }

 private:
  std::string why_;
};

}  // namespace

std::unique_ptr<Source> unreadable_source(SourceParts parts, const Error& error) {
  return std::make_unique<UnreadableSource>(std::move(parts), error);
}

}  // namespace kw::report
