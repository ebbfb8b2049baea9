// The notice at a file's head, with what the tree of licences must know of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kw::licence {

struct Notice {
  std::string spdx;
  std::size_t line = 1;
  bool of_a_part = false;  // it speaks of code that the file took over: the rest is under the tree's licence
};

std::optional<Notice> read_notice(std::string_view bytes);

}  // namespace kw::licence
