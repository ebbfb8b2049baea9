// Reads servers' errors: OpenAI's nested errors, SGLang's flat ones, FastAPI's `detail`, plain text, HTML
// pages. Recognises context-overflow errors among them.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kw::llm {

// Reads servers' errors: OpenAI's nested errors, SGLang's flat ones, FastAPI's `detail`, plain text, HTML
// pages.
struct ServerError {
  int status = 0;       // HTTP's; in a body of status 200 its `code`, else 500
  std::string message;  // plain text of bounded length; never empty
  std::string type;
  std::string code;
  std::string param;
  std::optional<std::uint64_t> prompt_tokens;  // llama.cpp gives both as fields
  std::optional<std::uint64_t> context_tokens;
};

ServerError read_error(int status, std::string_view body);

// Whether the error to a request of /completions says that the server has none, or none for this model.
bool lacks_completions(const ServerError& error);

// The error inside an answer that began as a valid one.
std::optional<ServerError> error_in(const boost::json::object& object);

// The numbers in the message, all in tokens.
struct Overflow {
  std::optional<std::uint64_t> context;  // prompt and answer together
  std::optional<std::uint64_t> prompt;
  std::optional<std::uint64_t> answer;  // the maximum that a request may ask for
};

// Empty if the error has another cause.
std::optional<Overflow> overflow_in(const ServerError& error);

// The number of tokens to request in a second try; empty if too few are left. `asked` is the first try's
// number; empty if the server chose it, so that the prompt itself is too long.
std::optional<std::uint64_t> shrunk(const Overflow& overflow, std::optional<std::uint64_t> asked);

}  // namespace kw::llm
