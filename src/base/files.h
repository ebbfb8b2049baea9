// Whole files, read and written with errors that name the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

// The file's bytes; an error for a directory, a missing file, or one over max_bytes.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t max_bytes = std::size_t{1} << 30);

// As read_file, and an error that names the first bad byte's offset unless the bytes are UTF-8.
Result<std::string> read_text_file(const std::filesystem::path& path,
                                   std::size_t max_bytes = std::size_t{1} << 30);

// Written to a neighbour and renamed, so that a reader never sees half a file.
Result<> write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace kw
