#include "collect/budget.h"

namespace kw::collect {
namespace {

// Below this nobody is hurt, whatever the ratio.
constexpr std::uint64_t harmless = std::uint64_t{64} << 20;

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

bool Budget::bytes(std::uint64_t count) {
  own_ = plus(own_, count);
  all_ = plus(all_, count);
  if (all_ > limits_.total_bytes) return false;
  return own_ <= harmless || static_cast<double>(own_) <= limits_.expansion * static_cast<double>(packed_);
}

}  // namespace kw::collect
