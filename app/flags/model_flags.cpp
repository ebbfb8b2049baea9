#include "flags/model_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "flags/parse.h"
#include "schema/json.h"

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
  app.add_option("--vllm-url", flags.url, "an OpenAI-compatible server [http://localhost:8000/v1]")
      ->envname("OPENAI_BASE_URL")
      ->type_name("URL")
      ->group(group);
  app.add_option("--model", flags.model, "its name, where the server lists several")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--model-replay", flags.replay, "recorded traces: a scripted model answers with them")
      ->type_name("F")
      ->group(group);
  add_parsed<std::optional<double>>(
      app, "--replay-delay", flags.replay_delay_s,
      [](const std::string& text) { return parse_share(text, 3600); },
      "seconds that the scripted model takes for an answer [0]")
      ->type_name("S")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--batch-size", flags.batch_size,
      [](const std::string& text) { return parse_whole(text, 1, 65536); },
      "requests in flight; fewer while the server is overloaded [10]")
      ->type_name("N")
      ->group(group);
  add_parsed<double>(app, "--request-timeout", flags.request_timeout_s, parse_positive,
                     "seconds that an answer may take [1800]")
      ->type_name("S")
      ->group(group);
  app.add_flag("!--no-stream", flags.stream, "ask for whole answers rather than streams")->group(group);
}

void add_sampling(CLI::App& app, llm::Sampling& sampling) {
  const std::string group = "Sampling";
  add_parsed<std::optional<double>>(
      app, "--temperature", sampling.temperature,
      [](const std::string& text) { return parse_share(text, 100); }, "[the server's]")
      ->type_name("T")
      ->group(group);
  add_parsed<std::optional<double>>(
      app, "--top-p", sampling.top_p, [](const std::string& text) { return parse_share(text, 1); },
      "[the server's]")
      ->type_name("P")
      ->group(group);
  add_parsed<std::optional<std::uint64_t>>(
      app, "--max-tokens", sampling.max_tokens,
      [](const std::string& text) { return parse_count<std::uint64_t>(text, 1, 10'000'000); },
      "tokens of an answer at most [what the context leaves]")
      ->type_name("N")
      ->group(group);
  app.add_option("--reasoning-effort", sampling.reasoning_effort,
                 "low, medium, high, or what the model knows")
      ->type_name("WORD")
      ->group(group);
  add_parsed<boost::json::object>(app, "--chat-template-kwargs", sampling.chat_template_kwargs,
                                  parse_json_object, R"(for the chat template: {"enable_thinking": false})")
      ->type_name("JSON")
      ->group(group);
  add_parsed<std::optional<std::int64_t>>(
      app, "--seed", sampling.seed,
      [](const std::string& text) { return parse_count<std::int64_t>(text, 0, INT64_MAX); },
      "of --shuffle and of the requests [shuffle by 0, none sent]")
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

}  // namespace kw
