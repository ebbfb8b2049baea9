#include "collect/package.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/text.h"
#include "licence/package_fields.h"

namespace kw::collect {
namespace {

constexpr std::size_t max_value_bytes = 300;

std::string clean(std::string_view value) {
  return to_plain_text(trim(value.substr(0, max_value_bytes)));
}

// "Source, https://..." where the label names a repository.
std::string labelled_url(std::string_view value) {
  const std::size_t comma = value.find(',');
  if (comma == std::string_view::npos) return {};
  const std::string label = lower(trim(value.substr(0, comma)));
  constexpr std::array<std::string_view, 6> labels{"source",   "source code", "repository",
                                                   "homepage", "github",      "code"};
  if (std::find(labels.begin(), labels.end(), label) == labels.end()) return {};
  return clean(value.substr(comma + 1));
}

}  // namespace

std::string normal_name(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool dash = c == '-' || c == '_' || c == '.';
    if (dash && result.ends_with('-')) continue;
    result += dash ? '-' : lower(c);
  }
  return result;
}

PackageNames read_package_names(std::string_view bytes) {
  PackageNames names;
  for (const licence::PackageField& field : licence::package_fields(bytes)) {
    const std::string_view value = field.first_line();
    if (field.key == "Name") names.name = normal_name(clean(value));
    if (field.key == "Version") names.version = clean(value);
    if (field.key == "Home-page" && names.url.empty()) names.url = clean(value);
    if (field.key == "Project-URL" && names.url.empty()) names.url = labelled_url(value);
  }
  if (names.url == "UNKNOWN" || !names.url.starts_with("http")) names.url.clear();
  names.url = without_credentials(names.url);
  return names;
}

bool is_package_info(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return path == "PKG-INFO";
  const std::string_view top = path.substr(0, slash);
  const std::string_view rest = path.substr(slash + 1);
  return (top.ends_with(".dist-info") && rest == "METADATA") || rest == "PKG-INFO";
}

PackageNames names_of_file(std::string_view file) {
  PackageNames names;
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  if (file.ends_with(".whl")) {
    const std::size_t dash = file.find('-');
    if (dash == std::string_view::npos) return names;
    names.name = normal_name(clean(file.substr(0, dash)));
    const std::string_view rest = file.substr(dash + 1);
    names.version = clean(rest.substr(0, rest.find('-')));
    return names;
  }
  for (const std::string_view end :
       {".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tgz", ".txz", ".tbz2", ".tar", ".zip", ".egg"})
    if (file.ends_with(end)) {
      file.remove_suffix(end.size());
      break;
    }
  const std::size_t dash = file.rfind('-');
  if (dash != std::string_view::npos && dash + 1 < file.size() && is_digit(file[dash + 1])) {
    names.name = normal_name(clean(file.substr(0, dash)));
    names.version = clean(file.substr(dash + 1));
  } else {
    names.name = clean(file);
  }
  return names;
}

std::string without_credentials(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) {
    // "user@host:path" says no more with its user; a password has no place there.
    const std::size_t at = url.find('@');
    return std::string(at == std::string_view::npos ? url : url.substr(at + 1));
  }
  const std::size_t host = scheme + 3;
  const std::size_t path = std::min(url.find_first_of("/?#", host), url.size());
  const std::size_t at = url.substr(0, path).rfind('@');
  std::string result(url.substr(0, host));
  result += at != std::string_view::npos && at >= host ? url.substr(at + 1) : url.substr(host);
  return result.substr(0, std::min(result.find_first_of("?#"), result.size()));
}

}  // namespace kw::collect
