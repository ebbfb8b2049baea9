// The part of a message before its body, as text. What could smuggle a second message is refused.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace kw::http {

// A method or a header's name: the characters of a token, at least one.
bool is_token(std::string_view text);

// The error names the header that cannot be sent, never its value.
Result<> check(const Headers& headers);

// "GET /x HTTP/1.1", the headers and the empty line. The headers must have passed check().
std::string head_text(std::string_view first_line, const Headers& headers);

// What a status code is called, or "Unknown".
std::string_view reason(int status);

}  // namespace kw::http
