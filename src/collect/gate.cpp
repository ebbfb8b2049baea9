#include "collect/gate.h"

#include "base/text.h"

namespace kw::collect {

void Gate::see(std::uint64_t bytes) {
  ++tally_.files_seen;
  tally_.bytes_seen += bytes;
}

void Gate::skip(const corpus::Origin& origin, const std::string& path, std::string reason,
                std::string detail) {
  ++tally_.skipped[reason];
  if (sink_.skip)
    sink_.skip({.origin = origin.name,
                .path = to_plain_text(path),
                .reason = std::move(reason),
                .detail = std::move(detail)});
}

void Gate::offer(const corpus::Origin& origin, const std::string& path, std::string bytes,
                 const licence::Tree& tree) {
  if (bytes.find('\0') != std::string::npos) return skip(origin, path, "binary");
  if (!is_utf8(bytes)) return skip(origin, path, "not UTF-8");
  if (sink_.matters && !sink_.matters(bytes)) return;
  ++tally_.files_taken;
  tally_.bytes_taken += bytes.size();
  if (!sink_.take) return;
  corpus::Licence licence = tree.of(path, bytes);
  sink_.take({.origin = origin,
              .path = path,
              .block = std::nullopt,
              .bytes = std::move(bytes),
              .licence = std::move(licence)});
}

}  // namespace kw::collect
