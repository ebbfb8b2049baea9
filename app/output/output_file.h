// The rule of every verb for a file of --output that exists already: it replaces or continues only its own
// files, and a file that it starts anew is renamed first. Also the standard streams.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace kw {

// The kind of a file by its first bytes: "an SQLite database", `text that begins with "my notes"`.
std::string looks_like(const std::filesystem::path& file);

// An error unless the file is missing or empty, or `is_ours` holds for it. `wanted` names the kind that this
// verb writes: "a trace file of kernelwright". A device or folder is an error too.
Result<> check_ours(const std::filesystem::path& file, std::string_view wanted,
                    const std::function<bool(const std::filesystem::path&)>& is_ours);

// The error of check_ours; `detail` may add a place in the file.
std::unexpected<Error> not_ours(const std::filesystem::path& file, std::string_view wanted,
                                std::string_view detail = {});

// Renames a file with content to NAME.1, or to the next free number, and prints a note on standard error.
Result<> set_aside(const std::filesystem::path& file);

// Call it before any file is opened: a standard stream that is closed keeps its descriptor, so that no file
// takes its place and gets what is written to it. Messages to a closed standard error are dropped, and a
// closed standard output stays one that cannot be written.
void hold_standard_streams();

// Flushes standard output. Returns the error of a write that failed once; later calls return none.
Result<> flush_stdout();

// The exit status of a verb: a failure with a message if its standard output could not be written.
int finished(int status);

}  // namespace kw
