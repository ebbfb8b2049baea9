#include "flags/correctness_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "flags/parse.h"

namespace kw {
namespace {

// The number after "NAME=", where the text is of that form.
std::optional<double> setting(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || !text.substr(name.size()).starts_with('=')) return {};
  text.remove_prefix(name.size() + 1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    return {};
  return value;
}

// Two words, of which one is true.
std::function<Result<bool>(const std::string&)> either(std::string yes, std::string no) {
  return [yes = std::move(yes), no = std::move(no)](const std::string& text) -> Result<bool> {
    auto word = parse_choice(text, {yes, no});
    if (!word) return std::unexpected(word.error());
    return *word == yes;
  };
}

}  // namespace

Result<ToleranceChoice> parse_tolerance(const std::string& text) {
  if (text == "kernelbench" || text == "seed" || text == "strict") return ToleranceChoice{text, -1, -1};
  ToleranceChoice choice{"custom", -1, -1};
  std::string_view all = text;
  std::size_t comma = all.find(',');
  if (comma != std::string_view::npos) {
    for (std::string_view part : {all.substr(0, comma), all.substr(comma + 1)}) {
      if (auto rtol = setting(part, "rtol")) choice.rtol = *rtol;
      if (auto atol = setting(part, "atol")) choice.atol = *atol;
    }
    if (choice.rtol >= 0 && choice.atol >= 0) return choice;
  }
  return fail(fmt::format("\"{}\" is none of kernelbench, seed, strict, rtol=R,atol=A", text));
}

void CorrectnessFlags::add(CLI::App& app) {
  const std::string group = "Correctness";
  add_parsed<std::uint64_t>(
      app, "--correctness-trials", trials, [](const std::string& text) { return parse_whole(text, 1, 1000); },
      "calls on fresh inputs that must all be right [5]")
      ->type_name("N")
      ->group(group);
  add_parsed<ToleranceChoice>(app, "--tolerance", tolerance, parse_tolerance,
                              "kernelbench, seed, strict, or rtol=R,atol=A [kernelbench]")
      ->type_name("T")
      ->group(group);
  add_parsed<std::string>(
      app, "--precision", precision,
      [](const std::string& text) { return parse_choice(text, {"fp32", "fp16", "bf16"}); },
      "of inputs and weights: fp32, fp16 or bf16 [fp32]")
      ->type_name("P")
      ->group(group);
  add_parsed<bool>(app, "--tf32", tf32, either("on", "off"), "the reference may use TF32: on or off [off]")
      ->type_name("on|off")
      ->group(group);
  add_parsed<bool>(
      app, "--weights", move_weights, either("moved", "constructor"),
      "moved away from their defaults, or the constructor's own values, as earlier evaluators had "
      "[moved]")
      ->type_name("moved|constructor")
      ->group(group);
  add_parsed<double>(
      app, "--audit", audit, parse_share,
      "on a GPU, share of replayed candidates that are called again without the recorder [0.25]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<bool>(app, "--shapes", reduce_shapes, either("auto", "given"),
                   "without a GPU, reduce shapes that would take too long, or never [auto]")
      ->type_name("auto|given")
      ->group(group);
}

}  // namespace kw
