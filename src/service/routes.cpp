#include "service/routes.h"

#include <algorithm>
#include <cstddef>

#include "base/percent.h"

namespace kw::service {
namespace {

bool is_below(std::string_view path, std::string_view pattern) {
  return pattern.ends_with("/*") && path.size() > pattern.size() - 1 &&
         path.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

std::optional<std::string> Call::parameter(std::string_view name) const {
  std::string_view left = query;
  while (!left.empty()) {
    std::string_view pair = left.substr(0, left.find('&'));
    left.remove_prefix(std::min(left.size(), pair.size() + 1));
    std::size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decoded(pair.substr(0, equals)) == name)
      return percent_decoded(pair.substr(std::min(pair.size(), equals + 1)));
  }
  return {};
}

void Routes::add(Route route) {
  routes_.push_back(std::move(route));
}

Routes::Found Routes::find(std::string_view method, std::string_view path) const {
  if (method == "HEAD") method = "GET";
  for (bool exact : {true, false}) {
    Found found;
    for (const Route& route : routes_) {
      if (exact ? route.path != path : !is_below(path, route.path)) continue;
      if (!exact) found.rest = percent_decoded(path.substr(route.path.size() - 1));
      if (route.method == method) {
        found.route = &route;
        return found;
      }
      found.allowed += (found.allowed.empty() ? "" : ", ") + route.method;
    }
    if (!found.allowed.empty()) return found;
  }
  return {};
}

}  // namespace kw::service
