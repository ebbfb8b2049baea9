// Which licence a file is under, and what says so.
#pragma once

#include <functional>
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
  // folder give "A AND B" unless their names or the metadata say OR. What says different things counts with
  // all that it says, and a licence file whose text is not recognised makes the licence unknown.
  corpus::Licence of(const std::string& path, std::string_view bytes) const;

 private:
  struct File {
    std::string path;
    std::string spdx;  // empty: not recognised
  };
  struct Folder {
    std::vector<File> files;
    std::optional<corpus::Licence> metadata;
    bool choice = false;  // a file says that either licence may be taken
  };
  Folder& seat(std::string_view path);
  const Folder* distribution_of(std::string_view folder, std::string_view path) const;
  static corpus::Licence of_folder(const Folder& folder);
  corpus::Licence of_tree(std::string_view path) const;

  std::map<std::string, Folder, std::less<>> folders_;  // "" is the root
  // What built packages say, by the folder that they are installed in.
  std::map<std::string, std::map<std::string, Folder>, std::less<>> distributions_;
};

// Whether a file of that name says what the package is: METADATA, PKG-INFO, pyproject.toml, package.json.
bool is_metadata_file(std::string_view path);

// Whether every choice that the expression demands can be met from the list: "MIT OR GPL-3.0-only" is met by
// MIT, "MIT AND GPL-3.0-only" is not. An empty or unreadable expression is not.
bool allowed(std::string_view spdx, const std::vector<std::string>& allow_list);

// Permissive licences: MIT, Apache-2.0, BSD-2-Clause, BSD-3-Clause, ISC, ...
const std::vector<std::string>& permissive();

}  // namespace kw::licence
