#include "verify/messages/message.h"

#include <cstdint>
#include <memory>

namespace kw::wire {
namespace {

const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

std::string finished(const flatbuffers::FlatBufferBuilder& builder) {
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace

std::string encode_body(const BodyUnion& body) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(CreatePacket(builder, body.type, body.Pack(builder)));
  return finished(builder);
}

Result<BodyUnion> decode(std::string_view packet) {
  flatbuffers::Verifier verifier(bytes_of(packet), packet.size());
  if (!VerifyPacketBuffer(verifier)) return fail("a message is malformed");
  std::unique_ptr<PacketT> unpacked(GetPacket(packet.data())->UnPack());
  if (unpacked->body.type == Body::NONE) return fail("a message is of an unknown kind");
  // The verifier accepts a kind without its content.
  if (unpacked->body.value == nullptr) return fail("a message has no content");
  return std::move(unpacked->body);
}

std::string_view kind_of(std::string_view packet) {
  return EnumNameBody(GetPacket(packet.data())->body_type());
}

std::string encode(const CallSpecT& spec) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(CallSpec::Pack(builder, &spec));
  return finished(builder);
}

Result<CallSpecT> decode_call_spec(std::string_view bytes) {
  flatbuffers::Verifier verifier(bytes_of(bytes), bytes.size(), 64, 10'000'000);
  if (!verifier.VerifyBuffer<CallSpec>(nullptr)) return fail("a call specification is malformed");
  CallSpecT spec;
  flatbuffers::GetRoot<CallSpec>(bytes.data())->UnPackTo(&spec);
  return spec;
}

}  // namespace kw::wire
