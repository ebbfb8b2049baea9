// Gate: decides which requests are answered, by their header alone: method, Host, Origin, key, token.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/http/access.h"
#include "base/http/message.h"
#include "base/http/served_names.h"

namespace kw::view {

struct GateOptions {
  std::string key{};  // empty: none is needed
  http::ServedNames names{};
  bool secure = false;  // https
};

using GateError = http::RequestError;

class Gate {
 public:
  explicit Gate(GateOptions options);

  // The refusal of a request with this header; empty: it may be answered.
  std::optional<GateError> refusal(const http::Request& head);

  // Whether the request carries the cookie of an exchange, or the key itself. True if no key is needed.
  bool is_known(const http::Request& head) const;

  // The ticket of the printed URL: exchanged once for a cookie. Empty if no key is needed.
  const std::string& ticket() const { return ticket_; }
  // The Set-Cookie header for a right ticket, which is then used up, or for the right key; empty otherwise.
  std::optional<std::string> exchange_ticket(std::string_view ticket);
  std::optional<std::string> exchange_key(std::string_view key, std::string_view peer);

  // Must be in the header X-Kernelwright-Token of every write.
  const std::string& token() const { return token_; }

 private:
  std::optional<GateError> refuse_guess(const http::Request& head);
  bool has_cookie(const http::Request& head) const;
  std::string cookie() const;

  GateOptions options_;
  http::KeyCheck key_;
  std::string ticket_;
  std::string session_;  // the cookie's value
  std::string token_;
  std::string cookie_name_;
  http::RateLimit wrong_keys_;
};

}  // namespace kw::view
