#include "flags/setting_flags.h"

#include "schema/options.h"

namespace kw {
namespace {

CLI::Option* add_flag(CLI::App& app, const std::string& flag, const Option& option, Settings& settings) {
  auto read = [flag, &option, &settings](const std::string& text) {
    if (auto done = option.read(text, settings); !done) throw CLI::ValidationError(flag, done.error().what);
  };
  if (option.is_switch())
    return app.add_flag_function(
        flag, [read](std::int64_t count) { read(count > 0 ? "true" : "false"); }, option.help());
  return app.add_option_function<std::string>(flag, read, option.help())
      ->type_name(std::string(option.about.value));
}

}  // namespace

void add_settings(CLI::App& app, Settings& settings) {
  for (const Option* option : all_options())
    add_flag(app, std::string(option->about.flag), *option, settings)
        ->group(std::string(option->about.group));
}

}  // namespace kw
