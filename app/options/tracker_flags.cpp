#include "options/tracker_flags.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw {
namespace {

constexpr const char* default_project = "kernelwright";

Result<> take_target(const std::string& text, TrackerFlags& flags) {
  std::size_t sign = text.find('=');
  std::string_view name = std::string_view(text).substr(0, sign);
  std::string value = sign == std::string::npos ? "" : text.substr(sign + 1);
  if (name == "trackio") {
    if (sign != std::string::npos && value.empty()) return fail("trackio= lacks the name of a project");
    flags.trackio = value.empty() ? default_project : value;
    return {};
  }
  if (name != "tensorboard")
    return fail(fmt::format("\"{}\" is neither tensorboard=DIR nor trackio[=PROJECT]", text));
  if (value.empty()) return fail("tensorboard lacks a folder: tensorboard=DIR");
  flags.tensorboard = value;
  return {};
}

}  // namespace

void TrackerFlags::add(CLI::App& app, const std::string& group) {
  app.add_option_function<std::vector<std::string>>(
         "--report-to",
         [this](const std::vector<std::string>& targets) {
           for (const std::string& text : targets)
             if (auto taken = take_target(text, *this); !taken)
               throw CLI::ValidationError("--report-to", taken.error().what);
         },
         "also report figures while it runs: tensorboard=DIR (event files), "
         "trackio[=PROJECT]; may be repeated")
      ->type_name("TARGET")
      ->allow_extra_args(false)  // the next word may be an input
      ->group(group);
}

}  // namespace kw
