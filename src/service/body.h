// What endpoints need of a call: its JSON, and whether anybody still waits for the answer.
#pragma once

#include <boost/json/object.hpp>
#include <exception>

#include "service/routes.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

namespace kw::service {

// The body's object; a refusal where it is of another type, or no such JSON.
Answered<boost::json::object> json_body(const Call& call);

// What the wait ends with, or a refusal that nobody will read where the client has gone.
template <typename T>
async::Task<Answered<T>> unless_gone(const Call& call, async::Task<Answered<T>> waiting) {
  using namespace boost::asio::experimental::awaitable_operators;
  auto first = co_await (std::move(waiting) || call.responder.until_gone());
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return refuse({499, "client_gone", "the client has gone"});
}

}  // namespace kw::service
