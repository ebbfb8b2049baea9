// Which reasoning parser a server needs for a model.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kw::models {

struct ReasoningParser {
  std::string name;        // as vLLM's --reasoning-parser takes it
  bool automatic = false;  // vLLM takes it by itself
};

// By the model's name, in whatever case and with whatever folder before it; none for models that do not
// reason and those we do not know.
std::optional<ReasoningParser> reasoning_parser_of(std::string_view model);

}  // namespace kw::models
