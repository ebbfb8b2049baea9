#include "verify/roofline.h"

#include <array>
#include <utility>

namespace kw::verify {
namespace {

// Peak memory bandwidth in bytes a second, from the vendor's data sheets; the longer names come first.
constexpr std::array<std::pair<std::string_view, double>, 12> peaks{{
    {"B200", 8.0e12},
    {"GH200", 4.0e12},
    {"H200", 4.8e12},
    {"H100 PCIe", 2.0e12},
    {"H100", 3.35e12},
    {"A100-SXM4-80GB", 2.04e12},
    {"A100", 1.94e12},
    {"L40S", 0.864e12},
    {"RTX 5090", 1.79e12},
    {"RTX 4090", 1.01e12},
    {"RTX 3090", 0.936e12},
    {"A10G", 0.6e12},
}};

}  // namespace

std::optional<double> least_traffic_ms(std::string_view gpu, std::uint64_t bytes) {
  for (const auto& [name, bytes_per_s] : peaks)
    if (gpu.find(name) != std::string_view::npos) return static_cast<double>(bytes) / bytes_per_s * 1000.0;
  return std::nullopt;
}

}  // namespace kw::verify
