#include "collect/checkout.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "collect/package.h"

namespace kw::collect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_bytes = std::size_t{16} << 20;

std::string text_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  auto text = read_file(path, max_bytes);
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

// A worktree keeps its HEAD in a folder of its own, and all else in the one it was made from.
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
  // A path of this machine is nobody else's address.
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
