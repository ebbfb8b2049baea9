// What a server says when it does not answer: OpenAI's nested errors, SGLang's flat ones, FastAPI's `detail`,
// plain text, pages for browsers.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kw::llm {

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

// The error in an answer that began as a good one.
std::optional<ServerError> error_in(const boost::json::object& object);

}  // namespace kw::llm
