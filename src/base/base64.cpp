#include "base/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <climits>

namespace kw {
namespace {

bool is_digit(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '+' || c == '/';
}

}  // namespace

std::optional<std::string> base64_decoded(std::string_view text) {
  std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.size() % 4 != 0 || text.size() > INT_MAX) return {};
  if (!std::ranges::all_of(text.substr(0, text.size() - padding), is_digit)) return {};
  std::string bytes(text.size() / 4 * 3, '\0');
  int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (length < 0) return {};
  bytes.resize(static_cast<std::size_t>(length) - padding);
  return bytes;
}

}  // namespace kw
