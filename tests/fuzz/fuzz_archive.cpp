// Any bytes as an archive, and as licence texts.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dataset/collect/readers.h"
#include "dataset/licence/licence.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  kw::licence::from_tag(bytes);
  kw::licence::from_notice(bytes);
  kw::licence::from_text(bytes);
  kw::licence::from_package_metadata(bytes);
  kw::licence::allowed(bytes, kw::licence::permissive());

  kw::collect::Limits limits;
  limits.file_bytes = 1 << 16;
  limits.total_bytes = 1 << 20;
  limits.entries = 200;
  std::uint64_t unpacked = 0;
  kw::collect::Packed packed{bytes, "", 0, &unpacked};
  auto facts = kw::collect::read_facts(packed, limits);
  if (!facts) return 0;
  kw::collect::Sink sink;
  kw::collect::Gate gate(limits, sink);
  unpacked = 0;
  kw::collect::read_files(packed, {}, facts->tree, gate);
  return 0;
}
