// A census as bytes, for the process that makes it, and for the cache.
#pragma once

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "verify/census/census.h"

namespace kw::census {

// `installation` is installation_of() the libraries.
std::string to_bytes(const Census& census, std::string_view installation);

// An error if the bytes are damaged, or of another installation; without one, any will do.
Result<Census> from_bytes(std::string_view bytes, std::string_view installation = {});

// Where the census of the libraries in these folders is kept in the user's cache folder; empty without such a
// folder. The census of changed libraries overwrites it.
std::filesystem::path cache_file(const std::vector<std::string>& folders, unsigned capability);

// The bytes of the census of the libraries in these folders: from the file, if it is whole and of these
// libraries, else made now and written there. A file that cannot be written is no error.
Result<std::string> kept_or_made(const std::vector<std::string>& folders, unsigned capability,
                                 const std::filesystem::path& file);

}  // namespace kw::census
