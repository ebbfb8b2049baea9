#include "doctor_server.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <filesystem>

#include "base/async/loop.h"
#include "base/core/counted.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "loop/model_client/answer.h"
#include "loop/model_client/listing.h"
#include "loop/model_client/request.h"
#include "loop/model_client/retry.h"
#include "loop/model_client/server_error.h"
#include "model_servers/launch_line.h"

namespace kw::app {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr auto answer_timeout = 90s;
constexpr std::uint64_t answer_tokens = 1024;  // enough for a model that reasons about a sum
constexpr std::size_t shown_bytes = 300;

Finding as_missing(const Error& error) {
  return {Grade::missing, error.what, error.remedy};
}

Finding refusal(const llm::ServerError& error, const llm::ServerOptions& options) {
  bool busy = llm::trouble_of(error).overloaded;
  return {
      busy ? Grade::busy : Grade::missing,
      fmt::format("a short question was refused with {}: {}", error.status,
                  llm::without_key(shorten(to_plain_text(error.message), shown_bytes), options)),
      busy ? "the server limits requests or is busy: check it again in a while" : "check the server's log"};
}

std::string parser_remedy(const llm::ModelInfo& model) {
  auto parser = models::reasoning_parser_of(model.name);
  return parser ? fmt::format("start the server with --reasoning-parser {}", parser->name)
                : "start the server with the --reasoning-parser of this model (vLLM and SGLang have a list)";
}

struct Answer {
  llm::Said said;
  std::string finish_reason;
};

// Empty if the body is no chat completion.
std::optional<Answer> read_answer(std::string_view body) {
  auto value = parse_json(to_utf8(body));
  if (!value || !value->is_object()) return {};
  const json::value* choices = value->get_object().if_contains("choices");
  if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return {};
  const json::value& first = choices->get_array().front();
  const json::value* message = first.is_object() ? first.get_object().if_contains("message") : nullptr;
  if (message == nullptr || !message->is_object()) return {};
  auto said = llm::said_in(message->get_object());
  if (!said) return {};
  return Answer{std::move(*said), string_at(first.get_object(), "finish_reason").value_or("")};
}

Finding judge_said(const llm::ModelInfo& model, const Answer& answer) {
  const auto& [content, reasoning] = answer.said;
  bool cut = answer.finish_reason == "length";
  if (trim(content).empty() && trim(reasoning).empty())
    return {Grade::missing, "its answer is empty", "check the server's log"};
  if (content.find("<think>") != std::string::npos || content.find("</think>") != std::string::npos)
    return {Grade::less,
            "the reasoning is in the answer, and its own field is empty: the server has no reasoning parser",
            parser_remedy(model)};
  if (trim(content).empty() && !cut)
    return {Grade::missing,
            "the answer is in the field for reasoning: the server has a reasoning parser that this model "
            "does not need",
            "start the server without --reasoning-parser"};
  auto parser = models::reasoning_parser_of(model.name);
  if (trim(reasoning).empty() && parser)
    return {Grade::less,
            "a reasoning model sent no reasoning: reasoning is off, or the server has no reasoning parser",
            parser->automatic ? "upgrade vLLM: newer versions choose the parser"
                              : parser_remedy(model) + ", unless reasoning is turned off on purpose"};
  return {Grade::ok, reasoning.empty() ? "it answers" : "it answers with the reasoning in its own field", ""};
}

// Sends the request of llm::OpenAiClient, and examines the unchanged response.
async::Task<Findings> ask_server(http::Client& client, llm::ServerOptions options, std::string base_url,
                                 llm::ModelInfo model, async::Stop& stop) {
  llm::ChatRequest question;
  question.id = "doctor";
  question.messages.push_back({"user", "What is 17 + 25? Answer with the number alone."});
  http::Request request{"POST", base_url + "/chat/completions", {}, {}};
  request.body = llm::request_body(model, question, llm::dialect_of(model.server), answer_tokens, false);
  auto headers = llm::common_headers(options);
  if (!headers) co_return Findings{as_missing(headers.error())};
  request.headers = std::move(*headers);
  request.headers.push_back({"Content-Type", "application/json"});
  auto response = co_await client.send(request, async::Deadline::in(answer_timeout), &stop);
  if (!response)
    co_return Findings{
        {Grade::missing, "a short question got no answer: " + response.error().what,
         response.error().remedy.empty() ? "check the server's log" : response.error().remedy}};
  if (response->status != 200)
    co_return Findings{refusal(llm::read_error(response->status, response->body), options)};
  co_return judge_answer(model, response->body);
}

async::Task<Findings> examine(async::Loop* loop, async::Stop* stop, llm::ServerOptions options) {
  http::Client client(*loop, options.http);
  auto listing = co_await llm::list_models(client, options, *stop);
  if (!listing)
    co_return Findings{
        {listing.error().busy ? Grade::busy : Grade::missing, listing.error().what, listing.error().remedy}};
  Findings found{
      {Grade::ok,
       fmt::format("{}: {}, {}", listing->base_url, listing->server.empty() ? "a server" : listing->server,
                   counted(listing->models.size(), "model")),
       ""}};
  auto model = llm::choose_model(*listing, options.model);
  if (!model) {
    found.push_back(as_missing(model.error()));
    co_return found;
  }
  std::ranges::move(judge_context(*model), std::back_inserter(found));
  std::ranges::move(co_await ask_server(client, options, listing->base_url, *model, *stop),
                    std::back_inserter(found));
  co_return found;
}

async::Task<> examine_to_end(async::Loop* loop, async::Stop* stop, llm::ServerOptions options,
                             Findings* found) {
  *found = co_await examine(loop, stop, std::move(options));
  loop->stop();
}

}  // namespace

Findings judge_context(const llm::ModelInfo& model) {
  if (!model.max_model_len)
    return {{Grade::less, fmt::format("{}: the server does not report its context length", model.name),
             "give --max-tokens to `run` to limit the answers"}};
  if (*model.max_model_len < models::least_context_tokens)
    return {{Grade::less,
             fmt::format("{}: a context of {} tokens; prompt, task and answer take up to {}", model.name,
                         *model.max_model_len, models::least_context_tokens),
             fmt::format("start the server with --max-model-len {} or more", models::least_context_tokens)}};
  return {{Grade::ok, fmt::format("{}: a context of {} tokens", model.name, *model.max_model_len), ""}};
}

Findings judge_answer(const llm::ModelInfo& model, std::string_view body) {
  auto answer = read_answer(body);
  if (!answer)
    return {{Grade::missing,
             "its answer is not a chat completion: " + shorten(to_plain_text(body), shown_bytes),
             "check that this is the address of an OpenAI-compatible server"}};
  return {judge_said(model, *answer)};
}

Findings examine_server(const llm::ServerOptions& options) {
  async::Loop loop;
  async::Stop stop(loop);
  Findings found;
  async::spawn(loop, examine_to_end(&loop, &stop, options, &found));
  loop.run();
  return found;
}

Findings examine_launch_line(const std::string& line_or_file) {
  std::string text = line_or_file;
  std::error_code error;
  if (std::filesystem::is_regular_file(line_or_file, error)) {
    auto script = read_text_file(line_or_file, std::size_t{1} << 20);
    if (!script) return {as_missing(script.error())};
    text = std::move(*script);
  } else if (text.find_first_of(" \t\n") == std::string::npos) {
    return {as_missing({fmt::format("there is no launch script {}", text),
                        "give a file, or the whole line: --launch \"vllm serve ...\""})};
  }
  Findings found;
  for (models::LaunchFinding& finding : models::examine_launch(text))
    found.push_back({finding.fatal ? Grade::missing : Grade::less, "launch line: " + finding.what,
                     std::move(finding.remedy)});
  if (found.empty()) found.push_back({Grade::ok, "launch line: its flags are right", ""});
  return found;
}

}  // namespace kw::app
