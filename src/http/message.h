// HTTP messages as both ends see them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::http {

struct Header {
  std::string name;
  std::string value;
};

using Headers = std::vector<Header>;

// The first value of that name, in whatever case; empty where there is none.
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

}  // namespace kw::http
