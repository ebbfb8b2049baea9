#pragma once

#include <string>

namespace kw {

// Bytes from the kernel's generator.
std::string random_bytes(std::size_t count);

}  // namespace kw
