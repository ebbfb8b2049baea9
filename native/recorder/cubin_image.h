// What an ELF image in this process's own memory says of itself. The driver has accepted it already, but
// every offset is compared with the length all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kw::recorder {

// Names of the kernels and device functions: its sections .text.NAME. Empty where it is no 64-bit ELF file.
std::vector<std::string> kernel_names(std::span<const std::uint8_t> image);

// How long an image of unknown length is by its own tables, 0 where it is no 64-bit ELF file.
std::size_t image_bytes(const void* image);

}  // namespace kw::recorder
