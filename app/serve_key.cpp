#include "serve_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

namespace kw::app {
namespace {

constexpr const char* variable = "KERNELWRIGHT_API_KEY";
constexpr std::size_t largest_key_file = 4096;

Result<std::string> checked(std::string_view text, std::string_view from) {
  std::string key(trim(text));
  if (key.empty())
    return fail(fmt::format("{} holds no key", from), "put a long random word in it: openssl rand -hex 24");
  // It has to travel in a header.
  bool sane = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
  if (!sane)
    return fail(fmt::format("the key in {} has a space or a special character", from),
                "use letters and digits");
  return key;
}

}  // namespace

Result<std::string> read_service_key(const std::string& file) {
  char* value = std::getenv(variable);
  std::string from_environment = value ? value : "";
  // /proc shows the environment as it lies in memory, whatever was unset since.
  if (value) std::memset(value, 0, from_environment.size());
  ::unsetenv(variable);
  if (file.empty()) return value ? checked(from_environment, variable) : Result<std::string>("");
  auto text = read_text_file(file, largest_key_file);
  if (!text) return std::unexpected(text.error());
  return checked(*text, file);
}

}  // namespace kw::app
