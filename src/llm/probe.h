// Asks a server for its models.
#pragma once

#include "llm/listing.h"
#include "llm/openai_client.h"

namespace kw::llm {

// A server that does not know the question has a listing without models.
async::Task<Result<Listing>> list_models(http::Client& client, const ServerOptions& options,
                                         async::Stop& stop);

// What every request carries: the key, where there is one. An error where the key cannot stand in a header.
Result<http::Headers> common_headers(const ServerOptions& options);

// The text without the key, should a server repeat it.
std::string without_key(std::string text, const ServerOptions& options);

}  // namespace kw::llm
