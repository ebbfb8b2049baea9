// What users give as a server's address, made into one form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::llm {

// "localhost:8000", ".../v1/", ".../v1/chat/completions" → where /models and /chat/completions may lie, the
// likeliest first: a path that ends in a version is taken as it is, another one is tried with /v1 too. A user
// name or password in the URL is an error, since URLs are shown.
Result<std::vector<std::string>> base_urls(std::string_view given);

}  // namespace kw::llm
