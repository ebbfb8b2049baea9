#include "view/page.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace kw::view {
namespace {

namespace json = boost::json;

constexpr std::string_view no_policy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";

http::Response small_page(int status, std::string_view body) {
  return {status,
          {{"Content-Type", "text/html; charset=utf-8"},
           // Under no-referrer, a browser sends the form with "Origin: null".
           {"Referrer-Policy", "same-origin"},
           {"Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'"}},
          fmt::format("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<meta name=\"viewport\" content=\"width=device-width\"><title>Kernelwright</title>"
                      "<style>:root{{color-scheme:light dark}}body{{font:16px system-ui,sans-serif;"
                      "max-width:32rem;margin:4rem auto;padding:0 1rem}}input,button{{font:inherit;"
                      "padding:.4rem}}</style></head><body>{}</body></html>\n",
                      body)};
}

}  // namespace

http::Response secured(http::Response response) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> fixed = {
      {{"X-Content-Type-Options", "nosniff"},
       {"Cache-Control", "no-store"},
       {"Referrer-Policy", "no-referrer"},
       {"X-Frame-Options", "DENY"},
       {"Cross-Origin-Resource-Policy", "same-origin"},
       {"Cross-Origin-Opener-Policy", "same-origin"},
       {"Content-Security-Policy", no_policy}}};
  for (const auto& [name, value] : fixed)
    if (http::header(response.headers, name).empty())
      response.headers.push_back({std::string(name), std::string(value)});
  return response;
}

http::Response json_response(int status, std::string text) {
  return {status, {{"Content-Type", "application/json"}}, std::move(text)};
}

http::Response json_response(int status, const json::value& value) {
  return json_response(status, json::serialize(value));
}

http::Response refusal_response(const GateError& refusal) {
  http::Response response = json_response(
      refusal.status,
      json::object{{"error", json::object{{"class", refusal.error_class}, {"message", refusal.message}}}});
  if (refusal.status == 405) response.headers.push_back({"Allow", "GET, HEAD, POST"});
  if (refusal.status == 429 || refusal.status == 503) response.headers.push_back({"Retry-After", "5"});
  return response;
}

http::Response unread_response(int status) {
  switch (status) {
    case 408:
      return secured(refusal_response({408, "too_slow", "the request did not arrive in time"}));
    case 413:
      return secured(refusal_response({413, "too_large", "the body exceeds the limit"}));
    case 431:
      return secured(refusal_response({431, "too_large", "the header exceeds the limit"}));
    case 503:
      return secured(refusal_response({503, "busy", "there are too many connections"}));
    default:
      return secured(refusal_response({status, "invalid", "the request is not HTTP/1.1"}));
  }
}

http::Response key_form(bool wrong) {
  return small_page(
      wrong ? 403 : 401,
      fmt::format("<h1>Kernelwright</h1>{}<form method=\"post\" action=\"/enter\"><p><label>Key "
                  "<input type=\"password\" name=\"key\" autocomplete=\"off\" required autofocus></label> "
                  "<button>Open</button></p></form><p>The program printed the key, or reads it from the "
                  "file of <code>--api-key-file</code>.</p>",
                  wrong ? "<p role=\"alert\">This is not the key.</p>" : ""));
}

http::Response welcome(const std::string& cookie, std::string_view fragment) {
  http::Response response = small_page(
      200, fmt::format("<meta http-equiv=\"refresh\" content=\"0; url=/{0}\"><p><a href=\"/{0}\">Open the "
                       "page</a></p>",
                       fragment));
  response.headers.push_back({"Set-Cookie", cookie});
  return response;
}

}  // namespace kw::view
