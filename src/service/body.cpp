#include "service/body.h"

#include "base/ascii.h"
#include "base/text.h"
#include "service/request_reader.h"

namespace kw::service {
namespace {

// "application/json; charset=utf-8"; where nothing is said it is believed to be that.
bool is_json(std::string_view content_type) {
  std::string_view type = trim(content_type.substr(0, content_type.find(';')));
  if (!content_type.empty() && !iequals(type, "application/json")) return false;
  std::string parameters = lower(content_type.substr(std::min(content_type.size(), type.size())));
  auto charset = parameters.find("charset=");
  return charset == std::string::npos || parameters.find("utf-8", charset) != std::string::npos;
}

}  // namespace

Answered<boost::json::object> json_body(const Call& call) {
  if (!is_json(http::header(call.request.headers, "Content-Type")))
    return refuse({415, "unsupported_type", "the body must be application/json in UTF-8"});
  return read_object(call.request.body);
}

}  // namespace kw::service
