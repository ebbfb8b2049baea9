// The address of a verb that serves pages or agents: checks of its flags, the names under which others reach
// it, and its URL for people.
#pragma once

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/http/served_names.h"
#include "base/http/server.h"

namespace kw::app {

// Errors name --host or --allow-host.
Result<> check_names(const std::string& host, const std::vector<std::string>& allow_hosts);

// The names of --allow-host, and this machine's own beyond loopback.
http::ServedNames served_names(const std::string& host, const std::vector<std::string>& allow_hosts);

// "localhost" is an address of loopback.
std::string address_of(const std::string& host);

// The address for people: 0.0.0.0 and :: are none.
std::string shown_url(const http::Server& server, const std::string& host,
                      const std::vector<std::string>& allow_hosts);

}  // namespace kw::app
