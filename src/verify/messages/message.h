// Messages as plain structs (the *T types that flatc generates from wire/messages.fbs) and as packets.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/core/result.h"
#include "messages_generated.h"

namespace kw::wire {

std::string encode_body(const BodyUnion& body);

template <typename Message>
std::string encode(Message message) {
  BodyUnion body;
  body.Set(std::move(message));
  return encode_body(body);
}

// Verifies the structure before reading; the reader checks the values.
Result<BodyUnion> decode(std::string_view packet);

// The name of the kind of a packet that encode() made.
std::string_view kind_of(std::string_view packet);

std::string encode(const CallSpecT& spec);
Result<CallSpecT> decode_call_spec(std::string_view bytes);

}  // namespace kw::wire
