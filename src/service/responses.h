// Answers, as HTTP and JSON.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "http/message.h"
#include "service/evaluation.h"

namespace kw::service {

http::Response json_response(int status, std::string text);
http::Response json_response(int status, const boost::json::value& value);

// {"error": {"class", "message", "field"}}, with Retry-After where it is worth another try.
http::Response refusal_response(const Refusal& refusal);

// The same where the server has read no whole request: http::ServerOptions::refusal.
http::Response unread_response(int status);

// {"id", "state", "verdict", "cause", "submitted_at", "started_at", "finished_at"}
std::string record_json(const Record& record);

}  // namespace kw::service
