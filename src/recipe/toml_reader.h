// TOML as a list of keys with their values; the parser stays behind this.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "recipe/keys.h"

namespace kw::recipe {

struct Entry {
  std::string path;  // "lora.rank"
  std::size_t line = 0;
  Value value;
};

// In the order of their lines. An error names `name` and the line.
Result<std::vector<Entry>> read_entries(std::string_view toml, std::string_view name);

// A word of the command line as a value of the key's kind; what cannot be one stays text, which assign() then
// refuses with the word as it was written.
Value read_word(std::string_view word, const Key& key);

}  // namespace kw::recipe
