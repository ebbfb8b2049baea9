// What a package calls itself.
#pragma once

#include <string>
#include <string_view>

namespace kw::collect {

struct PackageNames {
  std::string name;  // "flag-gems": lower case, one '-' for runs of '-', '_' and '.'
  std::string version;
  std::string url;  // of its home page or repository; without credentials
};

std::string normal_name(std::string_view name);

// From METADATA or PKG-INFO.
PackageNames read_package_names(std::string_view bytes);

// Whether the path is that of the package's own: "x.dist-info/METADATA", "x-1.0/PKG-INFO".
bool is_package_info(std::string_view path);

// From an archive's name: "flag_gems-5.0.2-py3-none-any.whl", "gemlite-0.6.0.tar.gz".
PackageNames names_of_file(std::string_view file);

// A URL without user name and password.
std::string without_credentials(std::string_view url);

}  // namespace kw::collect
