// A service with an operator's key and the keys of several owners.
#pragma once

#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "base/core/crypto.h"
#include "serve/owners.h"
#include "task_world.h"

namespace kw::service::test {

inline OwnerRules owner(const std::string& name) {
  OwnerRules rules;
  rules.name = name;
  rules.digests = {sha256_hex("key of " + name)};
  return rules;
}

// A service with an operator's key and the keys of alice and bob.
struct OwnersWorld : TaskWorld {
  OwnersWorld() { reopen(owner("alice")); }

  void reopen(OwnerRules alice, bool killed = false) {
    restart(
        [&](Options& of) {
          of.key = "key of the operator";
          of.owners = {std::move(alice), owner("bob")};
        },
        killed);
  }

  Answer as(const std::string& who, const std::string& method, const std::string& target,
            const json::object& body = {}) {
    http::Request request{method, target, {{"X-API-Key", "key of " + who}}};
    if (method == "POST") {
      request.headers.push_back({"Content-Type", "application/json"});
      request.body = json::serialize(body);
    }
    return ask(std::move(request));
  }

  Answer submit_as(const std::string& who, const std::string& id, json::object more = {}) {
    return as(who, "POST", "/v1/evaluations", evaluation(id, std::move(more)));
  }

  Answer done_as(const std::string& who, const std::string& id) {
    Answer answer;
    until([&] { return (answer = as(who, "GET", "/v1/evaluations/" + id)).at("state") == "done"; });
    return answer;
  }
};

}  // namespace kw::service::test
