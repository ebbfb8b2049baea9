// What OpenEnv over HTTP and over a WebSocket have in common.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>

#include "serve/dialects/dialect.h"

namespace kw::service {

// OpenEnv's client waits 60 s for an answer.
inline constexpr std::chrono::seconds openenv_patience{55};

// The task of a reset: the named one; else the seed chooses, or chance.
Answered<KnownTaskPtr> chosen_task(const DialectParts& parts, const Call& call,
                                   const boost::json::object& body);

// GET /openenv/ws and /ws.
void add_openenv_sockets(Routes& routes, const DialectParts& parts);

}  // namespace kw::service
