// A git checkout's commit and address, read from its files; git itself is not run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace kw::collect {

struct Checkout {
  std::string commit;  // empty where there is none yet
  std::string url;     // of the remote "origin", or of the first; without credentials
};

// Nothing where the folder is no checkout.
std::optional<Checkout> read_checkout(const std::filesystem::path& folder);

}  // namespace kw::collect
