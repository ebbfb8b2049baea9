#include "options/config.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <set>

#include "base/core/words.h"
#include "options/document.h"

namespace kw {
namespace {

// Access to protected checks of CLI11. They run again after the file has set options.
struct Checks : CLI::App {
  static void run(CLI::App& app) {
    (app.*(&Checks::_process_requirements))();
    void (CLI::App::*extras)() = &Checks::_process_extras;
    (app.*extras)();
  }
};

std::string as_name(std::string key) {
  std::ranges::replace(key, '_', '-');
  return key;
}

class Filler {
 public:
  Filler(CLI::App& verb, const std::filesystem::path& file) : verb_(verb), file_(file.string()) {
    for (CLI::Option* option : verb.get_options()) {
      if (!is_setting(*option)) continue;
      options_.push_back(option);
      if (option->count() > 0) given_.insert(option);
    }
  }

  bool takes_object(std::string_view key) const {
    const CLI::Option* option = find(key);
    return option != nullptr && option->get_type_name() == "JSON";
  }

  Result<> fill(const Setting& setting) {
    CLI::Option* option = find(setting.key);
    if (option == nullptr) return unknown(setting);
    if (!seen_.insert(option).second) return wrong(setting, "is set twice", "keep one of the two");
    if (auto fits = check_kind(setting, *option); !fits) return fits;
    if (given_.contains(option) || is_excluded(*option) || setting.texts.empty()) return {};
    // "false" equals a missing flag, which excludes nothing.
    if (is_flag(*option) && setting.texts.front() == "false") return {};
    try {
      for (const std::string& text : setting.texts)
        option->add_result(is_flag(*option) ? option->get_flag_value(name_of(*option), text) : text);
      option->run_callback();
    } catch (const CLI::Error& error) {
      return fail(fmt::format("{}:{}: {}", file_, setting.line, error.what()));
    }
    return {};
  }

 private:
  CLI::Option* find(std::string_view key) const {
    std::string name = as_name(std::string(key));
    for (CLI::Option* option : options_)
      if (option->check_lname(name) || name_of(*option) == name) return option;
    return nullptr;
  }

  bool is_excluded(const CLI::Option& option) const {
    for (CLI::Option* other : option.get_excludes())
      if (given_.contains(other)) return true;
    return false;
  }

  std::unexpected<Error> wrong(const Setting& setting, const std::string& what, std::string remedy) const {
    return fail(fmt::format("{}:{}: {} {}", file_, setting.line, setting.key, what), std::move(remedy));
  }

  std::unexpected<Error> unknown(const Setting& setting) const {
    std::vector<std::string> names;
    for (const CLI::Option* option : options_) names.push_back(name_of(*option));
    std::string near = nearest(as_name(setting.key), names);
    return wrong(setting, fmt::format("is not an option of `{}`", verb_.get_name()),
                 near.empty() ? fmt::format("`kernelwright {} --help` lists them", verb_.get_name())
                              : fmt::format("do you mean {}?", near));
  }

  Result<> check_kind(const Setting& setting, const CLI::Option& option) const {
    using Kind = Setting::Kind;
    if (is_flag(option) != (setting.kind == Kind::boolean))
      return wrong(setting, is_flag(option) ? "must be true or false" : "cannot be true or false",
                   is_flag(option) ? "write true or false"
                                   : fmt::format("write a string or a number ({})", option.get_type_name()));
    if (setting.kind == Kind::list && !is_list(option))
      return wrong(setting, "takes one value, not a list", "write it without brackets");
    if (setting.kind == Kind::list &&
        setting.texts.size() > static_cast<std::size_t>(option.get_items_expected_max()))
      return wrong(setting, fmt::format("takes {} values at most", option.get_items_expected_max()), "");
    return {};
  }

  CLI::App& verb_;
  std::string file_;
  std::vector<CLI::Option*> options_;
  std::set<const CLI::Option*> given_;  // by argv or the environment
  std::set<const CLI::Option*> seen_;   // in the file
};

// The innermost parsed verb.
CLI::App* parsed_verb(CLI::App& app) {
  CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  return verb;
}

std::string config_file(CLI::App& verb) {
  const CLI::Option* option = verb.get_option_no_throw("--config");
  return option != nullptr && option->count() > 0 ? option->as<std::string>() : "";
}

// False if a requirement is not met that a config file may still meet; the checks run again after it is read.
bool parse_all_but_requirements(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::RequiresError&) {
    if (config_file(*parsed_verb(app)).empty()) throw;
  } catch (const CLI::RequiredError&) {
    if (config_file(*parsed_verb(app)).empty()) throw;
  }
  return false;
}

}  // namespace

CLI::Option* add_config(CLI::App& verb) {
  // Without a variable: config_file() reads the option's result.
  return verb.add_option("--config", "read options from a TOML file; flags and environment override it")
      ->envname("KERNELWRIGHT_CONFIG")
      ->type_name("F.toml")
      ->group("Configuration");
}

Result<> apply_config(CLI::App& verb, const std::filesystem::path& file) {
  Filler filler(verb, file);
  auto settings = read_settings(file, [&](std::string_view name) { return filler.takes_object(name); });
  if (!settings) return std::unexpected(settings.error());
  for (const Setting& setting : *settings)
    if (auto filled = filler.fill(setting); !filled) return filled;
  return {};
}

void parse_arguments(CLI::App& app, int argc, const char* const* argv) {
  bool complete = parse_all_but_requirements(app, argc, argv);
  CLI::App& verb = *parsed_verb(app);
  std::string file = config_file(verb);
  if (!file.empty()) {
    if (auto applied = apply_config(verb, file); !applied) {
      const Error& error = applied.error();
      throw CLI::ConfigError(error.remedy.empty() ? error.what : error.what + "\n  -> " + error.remedy,
                             CLI::ExitCodes::ConfigError);
    }
  }
  if (!file.empty() || !complete) Checks::run(app);
  // For resolved_values: variables of options that were not given still have their defaults.
  for (CLI::Option* option : verb.get_options())
    if (option->count() == 0 && !is_flag(*option) && !is_list(*option)) option->capture_default_str();
}

namespace {

namespace json = boost::json;

template <typename Number>
std::optional<Number> exactly(const std::string& text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // "007" and "1.0" remain text, since they may be names.
  if (error != std::errc() || end != text.data() + text.size() || fmt::format("{}", number) != text)
    return {};
  return number;
}

json::value value_of(const std::string& text) {
  if (auto number = exactly<std::int64_t>(text)) return *number;
  if (auto number = exactly<double>(text); number && text.find_first_of("ni") == std::string::npos)
    return *number;
  return json::value(text);
}

bool is_secret(const std::string& name) {
  return name.find("key") != std::string::npos;
}

// Whether the flag's result equals the value that this name of it sets: "false" for a negated name.
bool is_on(const CLI::Option& option, const std::string& name) {
  if (option.count() == 0) return false;
  return CLI::detail::to_flag_value(option.get_flag_value(name, "true")) ==
         CLI::detail::to_flag_value(option.reduced_results().back());
}

std::optional<json::value> resolved(const CLI::Option& option, const std::string& name) {
  if (is_flag(option)) return is_on(option, name);
  if (is_list(option)) {
    if (option.count() == 0) return {};
    json::array list;
    for (const std::string& text : option.results()) list.push_back(value_of(text));
    return list;
  }
  std::string text = option.count() > 0 ? option.results().back() : option.get_default_str();
  if (text.empty() && option.count() == 0) return {};
  return value_of(text);
}

}  // namespace

json::object resolved_values(const CLI::App& verb) {
  json::object values;
  for (const CLI::Option* option : verb.get_options()) {
    std::string name = name_of(*option);
    if (!is_setting(*option) || is_secret(name)) continue;
    if (auto value = resolved(*option, name)) values[name] = std::move(*value);
  }
  return values;
}

std::string resolved_toml(const CLI::App& verb) {
  return write_settings(resolved_values(verb));
}

}  // namespace kw
