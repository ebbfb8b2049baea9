#include "types/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <concepts>
#include <utility>

#include "types/option_kinds.h"

namespace kw {

Settings with_options(Settings settings, const JobOptions& options) {
#define KW_OPTION(...)
#define KW_JOB_OPTION(name, ...) \
  if (options.name) settings.name = *options.name;
#include "types/options.def"
  return settings;
}

JobOptions job_options(const Settings& settings) {
  JobOptions options;
#define KW_OPTION(...)
#define KW_JOB_OPTION(name, ...) options.name = settings.name;
#include "types/options.def"
  return options;
}

JobOptions overlaid(JobOptions settings, const JobOptions& own) {
#define KW_OPTION(...)
#define KW_JOB_OPTION(name, ...) \
  if (own.name) settings.name = own.name;
#include "types/options.def"
  return settings;
}

namespace json = boost::json;
namespace {

using namespace kinds;

namespace group {
constexpr std::string_view engine = "Engine";
constexpr std::string_view correctness = "Correctness";
constexpr std::string_view timing = "Timing";
}  // namespace group

template <typename Kind, typename Member>
class SettingOption : public Option {
 public:
  SettingOption(std::string_view name, Member Settings::* member, Kind kind, const About& about)
      : Option(name, about), kind_(std::move(kind)), member_(member) {}

  bool is_job_option() const override { return false; }
  bool is_switch() const override { return std::same_as<Kind, Switch>; }
  std::string values() const override { return kind_.values(); }
  std::vector<std::string> words() const override { return kind_.words(); }

  Result<> read(const std::string& text, Settings& settings) const override {
    auto value = kind_.parse(text);
    if (!value) return std::unexpected(value.error());
    settings.*member_ = static_cast<Member>(std::move(*value));
    return {};
  }
  std::string text(const Settings& settings) const override { return kind_.text(settings.*member_); }
  json::value json(const Settings& settings) const override { return kind_.to_json(settings.*member_); }

  std::expected<void, FieldError> read(const json::value&, JobOptions&) const override {
    return std::unexpected(FieldError{std::string(name()), "is no option of a job"});
  }
  void write(const JobOptions&, json::object&) const override {}
  json::object json_schema() const override { return {}; }
  std::string python_type() const override { return {}; }

 protected:
  const Kind kind_;

 private:
  Member Settings::* member_;
};

template <typename Kind, typename Member>
class JobOption final : public SettingOption<Kind, Member> {
 public:
  JobOption(std::string_view name, Member Settings::* member, std::optional<Member> JobOptions::* own,
            Kind kind, const About& about)
      : SettingOption<Kind, Member>(name, member, std::move(kind), about), own_(own) {}

  bool is_job_option() const override { return true; }
  using SettingOption<Kind, Member>::read;
  std::expected<void, FieldError> read(const json::value& value, JobOptions& options) const override {
    auto read = this->kind_.from_json(value);
    if (read) {
      options.*own_ = static_cast<Member>(std::move(*read));
      return {};
    }
    const Wrong& wrong = read.error();
    std::string field(this->name());
    if (!wrong.field.empty()) field += "." + wrong.field;
    return std::unexpected(FieldError{std::move(field), wrong.why});
  }
  void write(const JobOptions& options, json::object& into) const override {
    if (options.*own_) into[this->name()] = this->kind_.to_json(*(options.*own_));
  }
  json::object json_schema() const override { return this->kind_.schema(); }
  std::string python_type() const override { return this->kind_.python(); }

 private:
  std::optional<Member> JobOptions::* own_;
};

bool enters(const Option& option, Device device) {
  return device == Device::cpu ? option.about.protocol.cpu : option.about.protocol.cuda;
}

std::string text_of(const Settings& settings, auto&& is_wanted) {
  std::string text;
  for (const Option* option : all_options())
    if (is_wanted(*option)) text += fmt::format(" {}={}", option->member, option->text(settings));
  return text;
}

}  // namespace

std::string Option::default_text() const {
  if (!about.otherwise.empty() || is_switch()) return std::string(about.otherwise);
  return text(Settings{});
}

std::string Option::help() const {
  std::string otherwise = default_text();
  return otherwise.empty() ? std::string(about.help) : fmt::format("{} [{}]", about.help, otherwise);
}

std::span<const Option* const> all_options() {
#define KW_OPTION(name, type, initial, kind, ...) \
  static const SettingOption name##_option(#name, &Settings::name, kind, About __VA_ARGS__);
#define KW_JOB_OPTION(name, type, initial, kind, ...) \
  static const JobOption name##_option(#name, &Settings::name, &JobOptions::name, kind, About __VA_ARGS__);
#include "types/options.def"
  static const std::array table = std::to_array<const Option*>({
#define KW_OPTION(name, ...) &name##_option,
#include "types/options.def"
  });
  return table;
}

std::vector<const Option*> job_option_table() {
  std::vector<const Option*> table;
  for (const Option* option : all_options())
    if (option->is_job_option()) table.push_back(option);
  return table;
}

json::object options_json(const JobOptions& options) {
  json::object object;
  for (const Option* option : all_options()) option->write(options, object);
  return object;
}

std::expected<JobOptions, FieldError> read_job_options(const json::object& object) {
  JobOptions options;
  const std::vector<const Option*> table = job_option_table();
  for (const auto& [name, value] : object) {
    auto option = std::ranges::find(table, std::string_view(name), &Option::name);
    if (option == table.end()) {
      std::vector<std::string_view> names;
      for (const Option* known : table) names.push_back(known->name());
      return std::unexpected(
          FieldError{std::string(name), fmt::format("is unknown: there are {}", fmt::join(names, ", "))});
    }
    if (value.is_null()) continue;
    if (auto read = (*option)->read(value, options); !read) return std::unexpected(read.error());
  }
  return options;
}

std::string protocol_text(const Settings& settings) {
  return text_of(settings, [&](const Option& option) { return enters(option, settings.device); });
}

json::object verdict_settings_json(const Settings& settings) {
  json::object object;
  for (const Option* option : all_options())
    if (enters(*option, Device::cpu) || enters(*option, Device::cuda))
      object[option->about.flag.substr(2)] = option->json(settings);
  return object;
}

std::string task_text(const Settings& settings) {
  return text_of(settings, [](const Option& option) { return option.about.shapes_task; });
}

}  // namespace kw
