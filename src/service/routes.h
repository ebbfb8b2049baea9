// Routes: which endpoint answers which method and path.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/loop.h"
#include "http/server.h"
#include "service/evaluation.h"

namespace kw::service {

// One request, as an endpoint sees it. Valid until the endpoint has answered.
struct Call {
  const http::Request& request;
  http::Responder& responder;  // for what must know whether the client is still there; not to answer with
  std::string rest;            // of the path, decoded, where the route's ends in "/*"
  std::string query;           // after the question mark, as it came

  // The first value of that name, decoded; nothing where it is not there.
  std::optional<std::string> parameter(std::string_view name) const;
};

using Endpoint = std::function<async::Task<http::Response>(const Call& call)>;

struct Route {
  std::string method;
  std::string path;  // "/v1/evaluations", or "/v1/evaluations/*" for all below it
  Endpoint endpoint;
  bool open = false;  // needs no key
};

class Routes {
 public:
  void add(Route route);

  struct Found {
    const Route* route = nullptr;
    std::string rest;
    std::string allowed;  // the path's other methods, "GET, DELETE", where this one is not among them
  };
  // An exact path comes before one that ends in "/*"; HEAD is answered as GET.
  Found find(std::string_view method, std::string_view path) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace kw::service
