// Names, versions, commits and URLs of packages and git checkouts, from their files; does not run git.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace kw::collect {

// Names and versions of packages.
struct PackageNames {
  std::string name;  // "flag-gems": lower case, one '-' for runs of '-', '_' and '.'
  std::string version;
  std::string url;  // of its home page or repository; without credentials
};

std::string normal_name(std::string_view name);

// From METADATA or PKG-INFO.
PackageNames read_package_names(std::string_view bytes);

// Whether the path is the package's own metadata: "x.dist-info/METADATA", "x-1.0/PKG-INFO".
bool is_package_info(std::string_view path);

// From an archive's name: "flag_gems-5.0.2-py3-none-any.whl", "gemlite-0.6.0.tar.gz".
PackageNames names_of_file(std::string_view file);

// A URL without user name and password.
std::string without_credentials(std::string_view url);

// "repo" of "https://host/owner/repo.git".
std::string repository_name(std::string_view url);

// Reads a git checkout's commit and URL from its files; does not run git.
struct Checkout {
  std::string commit;  // empty where there is none yet
  std::string url;     // of the remote "origin", or of the first; without credentials
};

// Empty if the folder is not a checkout.
std::optional<Checkout> read_checkout(const std::filesystem::path& folder);

}  // namespace kw::collect
