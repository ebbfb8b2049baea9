#include "collect/safe_path.h"

#include <algorithm>

#include "base/text.h"

namespace kw::collect {
namespace {

constexpr std::size_t max_bytes = 4'096;

bool has_control(std::string_view name) {
  return std::any_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

bool has_drive(std::string_view name) {
  return name.size() > 1 && name[1] == ':' && ((name[0] | 0x20) >= 'a' && (name[0] | 0x20) <= 'z');
}

SafePath refused(std::string reason) {
  return {.path = {}, .reason = std::move(reason)};
}

}  // namespace

SafePath safe_path(std::string_view name) {
  if (name.empty() || name.size() > max_bytes || has_control(name) || !is_utf8(name))
    return refused("bad name");
  if (name.front() == '/' || has_drive(name) || name.find('\\') != std::string_view::npos)
    return refused("leads outside");
  SafePath safe;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (part == "..") return refused("leads outside");
    if (part.empty() || part == ".") continue;
    if (!safe.path.empty()) safe.path += '/';
    safe.path += part;
  }
  return safe.path.empty() ? refused("bad name") : safe;
}

}  // namespace kw::collect
