#include "config/config.h"

#include <fmt/format.h>

#include <set>

#include "base/nearest.h"
#include "config/document.h"
#include "config/names.h"

namespace kw {
namespace {

// CLI11 keeps these to itself and its children. They run again once the file has filled options.
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
    // A flag that is off is one that was not given, and excludes nothing.
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
    return wrong(setting, fmt::format("is no option of `{}`", verb_.get_name()),
                 near.empty() ? fmt::format("`kernelwright {} --help` lists them", verb_.get_name())
                              : fmt::format("do you mean {}?", near));
  }

  Result<> check_kind(const Setting& setting, const CLI::Option& option) const {
    using Kind = Setting::Kind;
    if (is_flag(option) != (setting.kind == Kind::boolean))
      return wrong(setting, is_flag(option) ? "is on or off" : "is neither on nor off",
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

// The innermost verb that was called.
CLI::App* parsed_verb(CLI::App& app) {
  CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  return verb;
}

std::string config_file(CLI::App& verb) {
  const CLI::Option* option = verb.get_option_no_throw("--config");
  return option != nullptr && option->count() > 0 ? option->as<std::string>() : "";
}

// Whether it stays wrong once the file has been read is for the second look to say.
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
  // Read from the option's own result, so that it needs no variable.
  return verb.add_option("--config", "options from a TOML file; flags and environment come before it")
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
  // For resolved_values: variables of options that were not given hold their defaults still.
  for (CLI::Option* option : verb.get_options())
    if (option->count() == 0 && !is_flag(*option) && !is_list(*option)) option->capture_default_str();
}

}  // namespace kw
