// The page as `view` serves it, and the headers of every response.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/http/message.h"
#include "view/gate.h"

namespace kw::view {

// The page, live: it carries the token of writes, and its policy admits requests to this server.
struct LivePage {
  std::string html;
  std::string policy;  // of the header Content-Security-Policy
};
using MakePage = std::function<LivePage(const std::string& token)>;

// Adds the headers that every response has: no sniffing, no storing, no referrer, no frames, and a policy
// that admits nothing unless the response has one of its own.
http::Response secured(http::Response response);

http::Response json_response(int status, std::string text);
http::Response json_response(int status, const boost::json::value& value);

// {"error": {"class", "message"}}
http::Response refusal_response(const GateError& refusal);
// The same for http::ServerOptions::refusal, of requests that were not read.
http::Response unread_response(int status);

// The form that asks for the key; `wrong`: the last one was wrong.
http::Response key_form(bool wrong);
// Sets the cookie and goes on to the page with this fragment. A redirect would not do: after a link of
// another site the browser follows it without the new cookie.
http::Response welcome(const std::string& cookie, std::string_view fragment);

}  // namespace kw::view
