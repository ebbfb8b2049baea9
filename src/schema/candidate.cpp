#include "schema/candidate.h"

#include "base/hash.h"

namespace kw {

std::string candidate_sha256(std::string_view code) {
  return sha256_hex(code);
}

}  // namespace kw
