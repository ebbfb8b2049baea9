// Any bytes as a packet and as a call specification: an accepted one is written again without loss.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "verify/messages/message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto body = kw::wire::decode(bytes)) {
    const std::string packet = kw::wire::encode_body(*body);
    auto again = kw::wire::decode(packet);
    if (!again || kw::wire::encode_body(*again) != packet) std::abort();
  }
  if (auto spec = kw::wire::decode_call_spec(bytes)) {
    const std::string written = kw::wire::encode(*spec);
    auto again = kw::wire::decode_call_spec(written);
    if (!again || kw::wire::encode(*again) != written) std::abort();
  }
  return 0;
}
