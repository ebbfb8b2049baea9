#include "dataset/collect/origin.h"

#include <algorithm>
#include <array>

#include "base/core/files.h"
#include "base/core/text.h"
#include "dataset/licence/metadata.h"

namespace kw::collect {
namespace {

constexpr std::size_t max_value_bytes = 300;

std::string clean(std::string_view value) {
  return to_plain_text(trim(value.substr(0, max_value_bytes)));
}

// The URL of "Source, https://..." if the label names a repository.
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
    // Of "user@host:path", the user adds no information; this form cannot contain a password.
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

std::string repository_name(std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  if (url.ends_with(".git")) url.remove_suffix(4);
  const std::size_t slash = url.find_last_of("/:");
  return std::string(slash == std::string_view::npos ? url : url.substr(slash + 1));
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_git_file_bytes = std::size_t{16} << 20;

std::string text_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  auto text = read_file(path, max_git_file_bytes);
  return text ? std::string(trim(*text)) : std::string();
}

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

template <typename Each>
void lines_of(std::string_view text, Each each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    each(trim(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string packed_ref(const fs::path& git, std::string_view ref) {
  std::string commit;
  lines_of(text_of(git / "packed-refs"), [&](std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos && line.substr(space + 1) == ref && is_commit(line.substr(0, space)))
      commit = line.substr(0, space);
  });
  return commit;
}

// A worktree has its own HEAD; all other files are in the repository that it was made from.
fs::path common_folder(const fs::path& git) {
  const std::string common = text_of(git / "commondir");
  return common.empty() ? git : git / common;
}

std::string commit_of(const fs::path& git) {
  std::string head = text_of(git / "HEAD");
  if (is_commit(head)) return head;
  constexpr std::string_view mark = "ref: ";
  if (!head.starts_with(mark)) return {};
  const std::string ref(trim(std::string_view(head).substr(mark.size())));
  if (!ref.starts_with("refs/") || ref.find("..") != std::string::npos) return {};
  for (const fs::path& folder : {git, common_folder(git)})
    if (std::string commit = text_of(folder / ref); is_commit(commit)) return commit;
  return packed_ref(common_folder(git), ref);
}

std::string url_of(const fs::path& git) {
  std::string first;
  std::string origin;
  std::string section;
  lines_of(text_of(common_folder(git) / "config"), [&](std::string_view line) {
    if (line.starts_with('[')) section = line;
    if (!section.starts_with("[remote ") || !line.starts_with("url")) return;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(3, equals - 3)).size() > 0) return;
    std::string url = without_credentials(to_plain_text(trim(line.substr(equals + 1))));
    if (section == "[remote \"origin\"]" && origin.empty()) origin = url;
    if (first.empty()) first = std::move(url);
  });
  const std::string& url = origin.empty() ? first : origin;
  // A local path is no address on other machines.
  return url.starts_with('/') || url.starts_with('.') || url.starts_with("file:") ? std::string() : url;
}

}  // namespace

std::optional<Checkout> read_checkout(const fs::path& folder) {
  std::error_code ignored;
  fs::path git = folder / ".git";
  if (fs::is_regular_file(git, ignored)) {
    const std::string text = text_of(git);
    constexpr std::string_view mark = "gitdir:";
    if (!text.starts_with(mark)) return std::nullopt;
    git = folder / std::string(trim(std::string_view(text).substr(mark.size())));
  }
  if (!fs::is_regular_file(git / "HEAD", ignored)) return std::nullopt;
  return Checkout{.commit = commit_of(git), .url = url_of(git)};
}

}  // namespace kw::collect
