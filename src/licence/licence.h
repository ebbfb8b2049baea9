// Which licence a file is under, and what says so.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/place.h"

namespace kw::licence {

// The SPDX-License-Identifier in a file's first lines, as an expression; nothing where there is none.
std::optional<corpus::Licence> from_tag(std::string_view bytes);

// A licence notice at a file's head without a tag ("Licensed under the Apache License, Version 2.0 ...").
std::optional<corpus::Licence> from_notice(std::string_view bytes);

// The licence that a text is, as the whole: a LICENSE file.
std::optional<std::string> from_text(std::string_view bytes);

// From METADATA or PKG-INFO: License-Expression, then License, then classifiers; from pyproject.toml or
// package.json-like files where they say it.
std::optional<corpus::Licence> from_package_metadata(std::string_view bytes);

// Whether a file of that name holds a licence: LICENSE, COPYING.md, LICENCE-MIT, NOTICE not.
bool is_licence_file(std::string_view path);

// The licences of one tree: files added first, then asked for each source file.
class Tree {
 public:
  // A licence file, or package metadata, at its path.
  void add(const std::string& path, std::string_view bytes);
  // Tag, notice, the nearest licence file up the tree, then package metadata. Several licence files in one
  // folder give "A AND B" unless their names or the metadata say OR.
  corpus::Licence of(const std::string& path, std::string_view bytes) const;

 private:
  std::map<std::string, std::vector<corpus::Licence>> by_folder_;
  std::optional<corpus::Licence> package_;
};

// Whether every choice that the expression demands can be met from the list: "MIT OR GPL-3.0-only" is met by
// MIT, "MIT AND GPL-3.0-only" is not. An empty or unreadable expression is not.
bool allowed(std::string_view spdx, const std::vector<std::string>& allow_list);

// Permissive licences: MIT, Apache-2.0, BSD-2-Clause, BSD-3-Clause, ISC, ...
const std::vector<std::string>& permissive();

}  // namespace kw::licence
