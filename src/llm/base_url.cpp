#include "llm/base_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace kw::llm {
namespace {

constexpr std::string_view remedy = "give the server's address, like http://localhost:8000/v1";

void drop_end(std::string& url, std::string_view end) {
  if (url.ends_with(end)) url.resize(url.size() - end.size());
}

void drop_slashes(std::string& url) {
  while (url.ends_with('/')) url.pop_back();
}

// "v1", "v1beta".
bool is_version(std::string_view segment) {
  return segment.size() >= 2 && segment[0] == 'v' &&
         std::isdigit(static_cast<unsigned char>(segment[1])) != 0;
}

bool has_version(std::string_view path) {
  while (!path.empty()) {
    std::size_t slash = path.find('/');
    if (is_version(path.substr(0, slash))) return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> base_urls(std::string_view given) {
  std::string url(trim(given));
  if (url.find("://") == std::string::npos) url = "http://" + url;
  std::size_t host = url.find("://") + 3;
  std::size_t path = std::min(url.find('/', host), url.size());
  // The URL itself is not repeated: what stands before the @ may be a password.
  if (url.substr(host, path - host).find('@') != std::string::npos)
    return fail("the server's URL holds a user name or a password", "give the key in OPENAI_API_KEY instead");
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return fail(fmt::format("{}: not http or https", url), std::string(remedy));
  if (path == host) return fail(fmt::format("\"{}\" names no host", given), std::string(remedy));
  if (url.find_first_of("?# ") != std::string::npos)
    return fail(fmt::format("{}: a query, a fragment or a space in the server's URL",
                            url.substr(0, url.find_first_of("?# "))),
                std::string(remedy));
  drop_slashes(url);
  for (std::string_view end : {"/chat/completions", "/completions", "/models"}) drop_end(url, end);
  drop_slashes(url);
  if (url.size() <= path) return std::vector{url + "/v1"};
  if (has_version(std::string_view(url).substr(path + 1))) return std::vector{url};
  return std::vector{url + "/v1", url};
}

}  // namespace kw::llm
