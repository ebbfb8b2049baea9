#include "models/script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace kw::models {
namespace {

// Values of the table are plain words that need no quotes.
std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// "model=... flags=(...)" for a checkpoint, in as many lines as the separator makes.
std::string assignments(const ModelServer& server, const Checkpoint& checkpoint, std::string_view separator) {
  std::vector<std::string> words = serve_words(server, checkpoint);
  words.erase(words.begin());
  return fmt::format("model={}{}flags=({})", checkpoint.repository, separator, joined(words));
}

std::string commented(std::string_view text) {
  std::string lines = "# ";
  for (char c : text) lines += c == '\n' ? std::string("\n# ") : std::string(1, c);
  return lines;
}

std::string option_cases(const ModelServer& server) {
  std::string cases;
  for (const Checkpoint& checkpoint : server.checkpoints)
    if (!checkpoint.option.empty())
      cases += fmt::format("    {}) {} ;;\n", checkpoint.option, assignments(server, checkpoint, " "));
  return cases;
}

std::string option_words(const ModelServer& server) {
  std::string words;
  for (const Checkpoint& checkpoint : server.checkpoints)
    if (!checkpoint.option.empty())
      words += fmt::format("  {:<12} serve {}\n", checkpoint.option, checkpoint.repository);
  return words;
}

void replace_all(std::string& text, std::string_view name, std::string_view value) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
    text.replace(at, name.size(), value);
}

}  // namespace

std::string serve_line(const ModelServer& server, const Checkpoint& checkpoint) {
  return "vllm serve " + joined(serve_words(server, checkpoint));
}

std::string server_script(const ModelServer& server) {
  const Checkpoint& first = server.checkpoints.front();
  const std::pair<std::string_view, std::string> values[] = {
      {"@NAME@", server.name},
      {"@TITLE@", server.title},
      {"@SCRIPT@", server.script},
      {"@PRECISION@", server.precision},
      {"@GPUS@", std::to_string(server.gpus())},
      {"@NOTE@", commented(server.note)},
      {"@MODEL@", assignments(server, first, "\n")},
      {"@REPOSITORY@", first.repository},
      {"@TENSOR@", std::to_string(server.tensor_parallel)},
      {"@DATA@", std::to_string(server.data_parallel)},
      {"@WEIGHTS_GIB@", std::to_string(server.weights_gib)},
      {"@OLDEST_VLLM@", std::string(oldest_vllm)},
      {"@CHECKED_VLLM@", std::string(checked_vllm)},
      {"@OPTION_CASES@\n", option_cases(server)},
      {"@OPTION_WORDS@\n", option_words(server)},
  };
  std::string text(server_template());
  for (const auto& [name, value] : values) replace_all(text, name, value);
  return text;
}

}  // namespace kw::models
