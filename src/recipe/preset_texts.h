#pragma once

#include <span>
#include <string_view>

namespace kw::recipe {

struct PresetText {
  std::string_view name;
  std::string_view toml;
};

std::span<const PresetText> preset_texts();

}  // namespace kw::recipe
