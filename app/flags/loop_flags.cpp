#include "flags/loop_flags.h"

#include "base/files.h"
#include "flags/parse.h"
#include "refine/prompt.h"

namespace kw {
namespace {

Result<refine::RequireSpeed> parse_require_speed(const std::string& text) {
  auto word = parse_choice(text, {"auto", "always"});
  if (!word) return std::unexpected(word.error());
  return *word == "auto" ? refine::RequireSpeed::automatic : refine::RequireSpeed::always;
}

Result<refine::PromptStyle> parse_style(const std::string& text) {
  auto word = parse_choice(text, {"wrapper", "modelnew"});
  if (!word) return std::unexpected(word.error());
  return *word == "wrapper" ? refine::PromptStyle::wrapper : refine::PromptStyle::modelnew;
}

}  // namespace

void LoopFlags::add(CLI::App& app) {
  const std::string group = "Loop";
  app.add_flag("--multi-turn", multi_turn, "tell the model what was wrong or slow, and ask again")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--max-turns", max_turns, [](const std::string& text) { return parse_whole(text, 1, 100); },
      "answers in a conversation at most, with --multi-turn [4]")
      ->type_name("N")
      ->group(group);
  add_parsed<double>(app, "--target-speedup", target_speedup, parse_positive,
                     "a correct kernel this fast ends its conversation [1.0]")
      ->type_name("X")
      ->group(group);
  add_parsed<refine::RequireSpeed>(
      app, "--require-speed", require_speed, parse_require_speed,
      "always: go on also where speed cannot be measured; auto: correct is enough there [auto]")
      ->type_name("auto|always")
      ->group(group);
  app.add_flag("!--no-retry-failed", retry_failed, "no second conversation where all turns were wrong")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--samples-per-task", samples_per_task,
      [](const std::string& text) { return parse_whole(text, 1, 10'000); }, "conversations for each task [1]")
      ->type_name("N")
      ->group(group);
  add_parsed<refine::PromptStyle>(app, "--prompt-style", style, parse_style,
                                  "what is asked for: triton_kernel_wrapper or ModelNew [wrapper]")
      ->type_name("wrapper|modelnew")
      ->group(group);
  app.add_option("--system-prompt", system_prompt, "a text file in place of our system prompt")
      ->type_name("F")
      ->group(group);
}

Result<refine::Settings> LoopFlags::settings() const {
  refine::Settings settings;
  settings.multi_turn = multi_turn;
  settings.max_turns = multi_turn ? max_turns : 1;
  settings.target_speedup = target_speedup;
  settings.require_speed = require_speed;
  settings.retry_failed = retry_failed;
  settings.samples_per_task = samples_per_task;
  settings.style = style;
  if (system_prompt.empty()) {
    settings.system_prompt = refine::default_system_prompt(style);
    return settings;
  }
  auto text = read_text_file(system_prompt, std::size_t{1} << 20);
  if (!text) return std::unexpected(text.error());
  settings.system_prompt = std::move(*text);
  return settings;
}

}  // namespace kw
