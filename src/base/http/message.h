// HTTP messages of client and server, and their text before the body. Content that could smuggle a second
// message is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw::http {

// HTTP messages of client and server.
struct Header {
  std::string name;
  std::string value;
};

using Headers = std::vector<Header>;

// The first value of that name, ignoring case; empty if there is none.
std::string_view header(const Headers& headers, std::string_view name);

struct Request {
  std::string method = "GET";
  std::string url{};  // client: absolute; server: the target, "/v1/models?x=1"
  Headers headers{};
  std::string body{};
  std::string peer{};  // server: the client's address, "127.0.0.1"
};

struct Response {
  int status = 0;
  Headers headers{};
  std::string body{};
};

// A method or a header's name: the characters of a token, at least one.
bool is_token(std::string_view text);

// The error names the invalid header, never its value.
Result<> check(const Headers& headers);

// "GET /x HTTP/1.1", the headers and the empty line. check() must have accepted the headers.
std::string head_text(std::string_view first_line, const Headers& headers);

// The reason phrase of a status code, or "Unknown".
std::string_view reason(int status);

}  // namespace kw::http
