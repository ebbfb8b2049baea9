#include "verify/devices.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "base/text.h"

namespace kw::verify {
namespace {

namespace fs = std::filesystem;

std::string field(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name)) return std::string(trim(line.substr(line.find(':') + 1)));
  return {};
}

// The n-th GPU's information file belongs to the device whose minor number it names.
std::string name_of_minor(int minor) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", ignored)) {
    auto text = read_file(entry.path() / "information");
    if (text && field(*text, "Device Minor") == std::to_string(minor)) return field(*text, "Model");
  }
  return "NVIDIA GPU";
}

std::vector<int> minors() {
  std::vector<int> found;
  for (int minor = 0; minor < 64; ++minor) {
    struct stat info{};
    if (::stat(fmt::format("/dev/nvidia{}", minor).c_str(), &info) == 0 && S_ISCHR(info.st_mode))
      found.push_back(minor);
  }
  return found;
}

}  // namespace

std::vector<Gpu> visible_gpus() {
  std::vector<int> all = minors();
  std::vector<Gpu> gpus;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) {
    for (int minor : all) {
      auto ordinal = static_cast<int>(gpus.size());
      gpus.push_back({ordinal, minor, std::to_string(ordinal), name_of_minor(minor)});
    }
    return gpus;
  }
  std::istringstream names(visible);
  for (std::string name; std::getline(names, name, ',') && gpus.size() < all.size();) {
    bool number = !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    if (name == "-1") break;  // CUDA stops at the first it does not know
    auto index = number ? static_cast<std::size_t>(std::atoi(name.c_str())) : 0;
    if (index >= all.size()) break;
    gpus.push_back({static_cast<int>(gpus.size()), all[index], name, name_of_minor(all[index])});
  }
  return gpus;
}

std::string driver_version() {
  auto text = read_file("/sys/module/nvidia/version");
  if (text) return std::string(trim(*text));
  auto line = read_file("/proc/driver/nvidia/version");
  if (!line) return {};
  std::istringstream words(*line);
  for (std::string word; words >> word;)
    if (std::ranges::count(word, '.') >= 1 && word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return {};
}

}  // namespace kw::verify
