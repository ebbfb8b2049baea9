#include "options/model_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "base/core/files.h"
#include "base/core/json.h"
#include "loop/refine/prompt.h"
#include "options/parse.h"

namespace kw {
namespace {

Result<std::optional<double>> parse_share(const std::string& text, double most) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > most)
    return fail(fmt::format("\"{}\" is not a number from 0 to {}", text, most));
  return value;
}

template <typename T>
Result<std::optional<T>> parse_count(const std::string& text, std::uint64_t least, std::uint64_t most) {
  auto value = parse_whole(text, least, most);
  if (!value) return std::unexpected(value.error());
  return static_cast<T>(*value);
}

void add_server(CLI::App& app, ModelFlags& flags) {
  const std::string group = "Model";
  app.add_option("--vllm-url", flags.url, "URL of an OpenAI-compatible server [http://localhost:8000/v1]")
      ->envname("OPENAI_BASE_URL")
      ->type_name("URL")
      ->group(group);
  app.add_option("--model", flags.model, "name of the model, if the server lists several")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--model-replay", flags.replay, "recorded traces that a scripted model returns as answers")
      ->type_name("F")
      ->group(group);
  add_parsed<std::optional<double>>(
      app, "--replay-delay", flags.replay_delay_s,
      [](const std::string& text) { return parse_share(text, 3600); },
      "delay of the scripted model per answer, in seconds [0]")
      ->type_name("S")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--batch-size", flags.batch_size,
      [](const std::string& text) { return parse_whole(text, 1, 65536); },
      "maximum number of requests in flight; lower while the server is overloaded [10]")
      ->type_name("N")
      ->group(group);
  add_parsed<double>(app, "--request-timeout", flags.request_timeout_s, parse_positive,
                     "time limit of an answer, in seconds [1800]")
      ->type_name("S")
      ->group(group);
  app.add_flag("!--no-stream", flags.stream, "request complete answers instead of streams")->group(group);
}

void add_sampling(CLI::App& app, llm::Sampling& sampling) {
  const std::string group = "Sampling";
  add_parsed<std::optional<double>>(
      app, "--temperature", sampling.temperature,
      [](const std::string& text) { return parse_share(text, 100); }, "sampling temperature [the server's]")
      ->type_name("T")
      ->group(group);
  add_parsed<std::optional<double>>(
      app, "--top-p", sampling.top_p, [](const std::string& text) { return parse_share(text, 1); },
      "top-p of sampling [the server's]")
      ->type_name("P")
      ->group(group);
  add_parsed<std::optional<std::uint64_t>>(
      app, "--max-tokens", sampling.max_tokens,
      [](const std::string& text) { return parse_count<std::uint64_t>(text, 1, 10'000'000); },
      "maximum number of tokens in an answer [the rest of the context]")
      ->type_name("N")
      ->group(group);
  app.add_option("--reasoning-effort", sampling.reasoning_effort,
                 "low, medium, high, or another word that the model accepts")
      ->type_name("WORD")
      ->group(group);
  add_parsed<boost::json::object>(app, "--chat-template-kwargs", sampling.chat_template_kwargs,
                                  parse_json_object,
                                  R"(arguments of the chat template, like {"enable_thinking": false})")
      ->type_name("JSON")
      ->group(group);
  add_parsed<std::optional<std::int64_t>>(
      app, "--seed", sampling.seed,
      [](const std::string& text) { return parse_count<std::int64_t>(text, 0, INT64_MAX); },
      "seed of --shuffle and of the requests [0 for --shuffle, none in requests]")
      ->type_name("N")
      ->group(group);
}

}  // namespace

Result<boost::json::object> parse_json_object(const std::string& text) {
  auto value = parse_json(text);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object()) return fail(fmt::format("{} is not a JSON object", text));
  return value->get_object();
}

void ModelFlags::add(CLI::App& app) {
  add_server(app, *this);
  add_sampling(app, sampling);
}

llm::ServerOptions ModelFlags::server_options() const {
  llm::ServerOptions options;
  options.base_url = url;
  options.model = model;
  options.stream = stream;
  options.in_flight = batch_size;
  options.request_timeout = std::chrono::milliseconds(static_cast<long>(request_timeout_s * 1000));
  const char* key = std::getenv("OPENAI_API_KEY");
  if (key) options.api_key = key;
  return options;
}

void LoopFlags::add(CLI::App& app) {
  const std::string group = "Loop";
  app.add_flag("--multi-turn", multi_turn, "return the verdict to the model and ask it again")->group(group);
  add_parsed<std::uint64_t>(
      app, "--max-turns", max_turns, [](const std::string& text) { return parse_whole(text, 1, 100); },
      "maximum number of answers in a conversation with --multi-turn [4]")
      ->type_name("N")
      ->group(group);
  add_parsed<double>(app, "--target-speedup", target_speedup, parse_positive,
                     "end a conversation at a correct kernel with this speedup [1.0]")
      ->type_name("X")
      ->group(group);
  add_word<refine::RequireSpeed>(
      app, "--require-speed", require_speed,
      "if speed cannot be measured, always: continue; auto: end at a correct kernel [auto]")
      ->group(group);
  app.add_flag("!--no-retry-failed", retry_failed,
               "do not repeat a conversation in which all turns were wrong")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--samples-per-task", samples_per_task,
      [](const std::string& text) { return parse_whole(text, 1, 10'000); },
      "number of conversations per task [1]")
      ->type_name("N")
      ->group(group);
  add_word<refine::PromptStyle>(app, "--prompt-style", style,
                                "form of the requested code: triton_kernel_wrapper or ModelNew [wrapper]")
      ->group(group);
  app.add_option("--system-prompt", system_prompt, "text file that replaces the built-in system prompt")
      ->type_name("F")
      ->group(group);
}

Result<refine::Settings> LoopFlags::settings(bool gradients) const {
  refine::Settings settings;
  settings.multi_turn = multi_turn;
  settings.max_turns = multi_turn ? max_turns : 1;
  settings.target_speedup = target_speedup;
  settings.require_speed = require_speed;
  settings.retry_failed = retry_failed;
  settings.samples_per_task = samples_per_task;
  settings.style = style;
  settings.gradients = gradients;
  if (system_prompt.empty()) {
    settings.system_prompt = refine::system_prompt_for(style, gradients);
    return settings;
  }
  auto text = read_text_file(system_prompt, std::size_t{1} << 20);
  if (!text) return std::unexpected(text.error());
  settings.system_prompt = std::move(*text);
  return settings;
}

}  // namespace kw
