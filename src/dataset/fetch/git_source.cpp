#include "dataset/fetch/git_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/core/text.h"
#include "dataset/collect/origin.h"

namespace kw::fetch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_url_bytes = 2'000;
constexpr std::size_t max_revision_bytes = 250;
constexpr std::string_view forms = "give https://..., ssh://..., USER@HOST:PATH or a local path";

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c != 0x7f; });
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '.' || c == '_' || c == '-';
}

// "user@host:path", as ssh has it: 0, or the index of the path.
std::size_t path_of_short_ssh(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == 0 || at == std::string_view::npos) return 0;
  const std::size_t colon = text.find(':', at);
  if (colon == std::string_view::npos || colon == at + 1 || text[at + 1] == '-') return 0;
  const std::string_view user = text.substr(0, at);
  const std::string_view host = text.substr(at + 1, colon - at - 1);
  const bool named =
      std::ranges::all_of(user, is_name_character) && std::ranges::all_of(host, is_name_character);
  return named ? colon + 1 : 0;
}

// The rules of `git check-ref-format` that matter for an argument.
bool may_be_revision(std::string_view text) {
  return text.size() <= max_revision_bytes && is_plain(text) && !text.starts_with('-') &&
         !text.starts_with('/') && !text.ends_with('/') && text.find("..") == std::string_view::npos &&
         text.find_first_of("~^:?*[{\\") == std::string_view::npos;
}

struct Parts {
  std::string_view url;
  std::string_view revision;
};

// Splits at the last '@' behind `from`, where the path of the URL begins.
Parts split(std::string_view text, std::size_t from) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || at < from) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

Result<GitSource> source_of(std::string url, std::string_view revision, bool is_local) {
  GitSource source{.url = std::move(url), .revision = std::string(revision), .is_local = is_local};
  const std::string name = source.name();
  if (name.empty() || name.starts_with('.') || !std::ranges::all_of(name, is_name_character))
    return fail(fmt::format("{}: the URL has no name of a repository", source.url), std::string(forms));
  return source;
}

Result<GitSource> local_source(std::string_view text) {
  const std::string whole(text);
  std::error_code error;
  const Parts parts = fs::exists(whole, error) ? Parts{text, {}} : split(text, 1);
  const fs::path path = fs::absolute(std::string(parts.url), error).lexically_normal();
  if (!fs::is_directory(path, error))
    return fail(fmt::format("{}: no such folder, and no URL that may be cloned", whole), std::string(forms));
  return source_of((path.has_filename() ? path : path.parent_path()).string(), parts.revision, true);
}

}  // namespace

std::string GitSource::name() const {
  return collect::repository_name(url);
}

bool is_full_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

namespace {

Result<GitSource> parse(std::string_view text) {
  if (text.empty() || text.size() > max_url_bytes || text.starts_with('-') || !is_plain(text))
    return fail(fmt::format("\"{}\" is no URL", to_plain_text(text.substr(0, 200))), std::string(forms));
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) {
    if (const std::size_t path = path_of_short_ssh(text)) {
      const Parts parts = split(text, path);
      return source_of(std::string(parts.url), parts.revision, false);
    }
    if (text.find("::") != std::string_view::npos)
      return fail(fmt::format("{}: remote helpers of git are not run", text), std::string(forms));
    return local_source(text);
  }
  const std::string protocol = lower(text.substr(0, scheme));
  const std::size_t host = scheme + 3;
  const std::size_t slash = text.find('/', host);
  if (protocol == "file") {
    if (slash != host) return fail(fmt::format("{}: the path is not absolute", text), std::string(forms));
    return local_source(text.substr(host));
  }
  if (protocol != "https" && protocol != "ssh")
    return fail(fmt::format("{}: the transport {} is not allowed", text, protocol), std::string(forms));
  if (slash == std::string_view::npos || slash == host || slash + 1 == text.size() || text[host] == '-')
    return fail(fmt::format("{}: the URL has no host or no path", text), std::string(forms));
  const std::string_view authority = text.substr(host, slash - host);
  const std::size_t user = authority.rfind('@');
  const bool has_password =
      user != std::string_view::npos && authority.substr(0, user).find(':') != std::string_view::npos;
  if (has_password || (protocol == "https" && user != std::string_view::npos))
    return fail(fmt::format("{}: a URL may contain no credentials", collect::without_credentials(text)),
                "clone a private repository by ssh, or give the path of a checkout");
  if (user != std::string_view::npos && authority.substr(user + 1).starts_with('-'))
    return fail(fmt::format("{}: no host", text), std::string(forms));
  const Parts parts = split(text, slash);
  return source_of(protocol + std::string(parts.url.substr(scheme)), parts.revision, false);
}

}  // namespace

Result<GitSource> parse_git_source(std::string_view text) {
  auto source = parse(text);
  if (!source) return source;
  if (text.ends_with('@') || (!source->revision.empty() && !may_be_revision(source->revision)))
    return fail(fmt::format("{}: \"{}\" is no commit, branch or tag", source->url, source->revision),
                "give URL@COMMIT with the 40 digits of a commit, URL@BRANCH or URL@TAG");
  return source;
}

}  // namespace kw::fetch
