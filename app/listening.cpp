#include "listening.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/core/display.h"
#include "base/core/text.h"
#include "base/http/url.h"

namespace kw::app {

Result<> check_names(const std::string& host, const std::vector<std::string>& allow_hosts) {
  if (!http::is_address(host) && !http::is_loopback(host))
    return fail(fmt::format("--host {}: not an address", host),
                "give an address of this machine, like 127.0.0.1, 0.0.0.0 or ::");
  for (const std::string& name : allow_hosts)
    if (http::host_of(name) != lower(name))
      return fail(fmt::format("--allow-host {}: not the name of a host", visible_line(name)),
                  "give a name without scheme, port and path, like gpu7.example.org");
  return {};
}

http::ServedNames served_names(const std::string& host, const std::vector<std::string>& allow_hosts) {
  http::ServedNames names;
  for (const std::string& name : allow_hosts) names.hosts.push_back(lower(name));
  names.any_address = !http::is_loopback(host);
  std::string own(256, '\0');
  if (names.any_address && ::gethostname(own.data(), own.size() - 1) == 0)
    names.hosts.push_back(lower(own.c_str()));
  return names;
}

std::string address_of(const std::string& host) {
  return http::is_address(host) ? host : "127.0.0.1";
}

std::string shown_url(const http::Server& server, const std::string& host,
                      const std::vector<std::string>& allow_hosts) {
  std::string url = server.url();
  if (host != "0.0.0.0" && host != "::") return url;
  const std::vector<std::string> names = served_names(host, allow_hosts).hosts;
  auto begin = url.find("//") + 2;
  return url.substr(0, begin) + (names.empty() ? "127.0.0.1" : names.front()) + url.substr(url.rfind(':'));
}

}  // namespace kw::app
