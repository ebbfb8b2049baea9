// Addresses of a recording, equal in every process that uses it, and size limits of its parts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kw::recording {

inline constexpr std::uint64_t heap_address = 0x300000000000;
inline constexpr std::uint64_t max_heap_bytes = std::uint64_t{1} << 38;
inline constexpr std::uint64_t arena_address = 0x500000000000;
inline constexpr std::uint64_t max_arena_bytes = std::uint64_t{1} << 38;
inline constexpr std::uint64_t max_state_bytes = max_heap_bytes;

// Limits of lists. An entry takes a few bytes of the file, but more work.
inline constexpr std::size_t max_cubins = 4096;
inline constexpr std::size_t max_spans = 1'000'000;  // each of committed, state, scratch
inline constexpr std::size_t max_obstacles = 10'000;
inline constexpr std::size_t max_markers = 16;
inline constexpr std::size_t max_globals = 10'000;  // of one cubin
inline constexpr std::size_t max_layout = 4096;
inline constexpr std::size_t max_attributes = 32;

inline constexpr std::size_t max_attribute_bytes = 64;  // CUlaunchAttributeValue
inline constexpr std::size_t max_parameter_bytes = 32768;
inline constexpr std::size_t max_kernel_name_bytes = 32768;  // mangled names of templates are long
inline constexpr std::size_t max_word_bytes = 256;           // the GPU's name, versions
inline constexpr std::size_t max_text_bytes = 4096;          // of an obstacle

// The longest chain of tables is four: recording, operation, launch, attribute.
inline constexpr std::uint32_t max_depth = 8;
inline constexpr std::uint32_t max_tables = 4'000'000;

// CUDA's limits of a launch.
inline constexpr std::uint32_t max_grid_x = 0x7FFFFFFF;
inline constexpr std::uint32_t max_grid_yz = 65535;
inline constexpr std::uint32_t max_block_threads = 1024;

}  // namespace kw::recording
