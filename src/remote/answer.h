// An HTTP answer, or the want of one, as JSON or Trouble.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "http/client.h"
#include "remote/trouble.h"

namespace kw::remote {

// `name` is that of the service in messages, `advice` what to do where it takes no key of ours.
struct Asked {
  std::string name;
  std::string what;  // "GET /v1/service"
  std::string advice;
};

Answer<boost::json::object> read_answer(std::expected<http::Response, http::Failure> outcome,
                                        const Asked& asked);

}  // namespace kw::remote
