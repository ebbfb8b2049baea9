#include "options/harbor_flags.h"

#include <fmt/format.h>

#include "loop/exports/harbor_names.h"
#include "options/parse.h"

namespace kw {
namespace {

constexpr std::uint64_t most_gpus = 64;

Result<> check_image(const char* flag, const std::optional<std::string>& image) {
  if (!image || exports::is_image_name(*image)) return {};
  return fail(fmt::format("{}: \"{}\" is not the name of an image", flag, *image));
}

}  // namespace

void HarborFlags::add(CLI::App& app) {
  const std::string group = "Harbor";
  add_word<refine::PromptStyle>(app, "--prompt-style", style,
                                "form of the requested code: triton_kernel_wrapper or ModelNew [wrapper]")
      ->group(group);
  add_word<exports::HarborJudge>(app, "--judge", judge,
                                 "service: the verifier asks `serve --tasks SOURCE`; local: it judges in its "
                                 "own container [service]")
      ->group(group);
  add_parsed<std::optional<bool>>(
      app, "--backward", backward,
      [](const std::string& text) -> Result<std::optional<bool>> {
        if (text == "on" || text == "off") return text == "on";
        return fail(fmt::format("\"{}\" is neither on nor off", text));
      },
      "on: the prompt asks for gradients, and the verifier has them judged [off]")
      ->type_name("on|off")
      ->group(group);
  app.add_option("--org", org, "first part of the tasks' names [kernelwright]")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--image", image, "image of the agent's container [Python with PyTorch for the CPU]")
      ->type_name("IMAGE")
      ->group(group);
  app.add_option("--verifier-image", verifier_image,
                 "image of the verifier's container, with Python 3.8 or newer; for --judge local also with "
                 "kernelwright [python:3.12-slim]")
      ->type_name("IMAGE")
      ->group(group);
  add_parsed<std::optional<std::uint64_t>>(
      app, "--gpus", gpus,
      [](const std::string& text) -> Result<std::optional<std::uint64_t>> {
        auto number = parse_whole(text, 0, most_gpus);
        if (!number) return std::unexpected(number.error());
        return *number;
      },
      "GPUs of the agent's container, and of the verifier's with --judge local [0]")
      ->type_name("N")
      ->group(group);
}

Result<exports::HarborOptions> HarborFlags::options() const {
  exports::HarborOptions made;
  made.prompt_style = to_string(style.value_or(refine::PromptStyle::wrapper));
  made.judge = judge.value_or(exports::HarborJudge::service);
  made.gradients = backward.value_or(false);
  if (org) made.org = *org;
  if (!exports::is_harbor_org(made.org))
    return fail(fmt::format("--org: \"{}\" is not a name", made.org),
                "use ASCII letters, digits, -, _ and .");
  if (auto good = check_image("--image", image); !good) return std::unexpected(good.error());
  if (auto good = check_image("--verifier-image", verifier_image); !good)
    return std::unexpected(good.error());
  made.image = image.value_or("");
  made.verifier_image = verifier_image.value_or("");
  made.gpus = static_cast<unsigned>(gpus.value_or(0));
  if (made.judge == exports::HarborJudge::local && made.verifier_image.empty())
    return fail("--judge local requires --verifier-image",
                "give an image with kernelwright, Python, PyTorch and Triton: docs/containers.md");
  if (made.gpus > 0 && made.image.empty())
    return fail("--gpus requires --image", "give an image with PyTorch and Triton for these GPUs");
  return made;
}

}  // namespace kw
