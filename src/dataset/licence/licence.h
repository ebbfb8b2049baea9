// Determines the licence of a file, with the evidence.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/units/unit.h"

namespace kw::licence {

// The SPDX-License-Identifier in a file's first lines, as an expression; empty if there is none.
std::optional<corpus::Licence> from_tag(std::string_view bytes);

// A licence notice at a file's head without a tag ("Licensed under the Apache License, Version 2.0 ...").
std::optional<corpus::Licence> from_notice(std::string_view bytes);

// The licence whose text the complete text is: a LICENSE file.
std::optional<std::string> from_text(std::string_view bytes);

// From METADATA or PKG-INFO: License-Expression, then License, then classifiers; from the licence fields of
// pyproject.toml or package.json-like files.
std::optional<corpus::Licence> from_package_metadata(std::string_view bytes);

// Whether a file of that name contains a licence: LICENSE, COPYING.md, LICENCE-MIT, but not NOTICE.
bool is_licence_file(std::string_view path);

// The licences of one tree. Add its licence files first, then query each source file.
class Tree {
 public:
  // A licence file, or package metadata, at its path.
  void add(const std::string& path, std::string_view bytes);
  // Tag, notice, the nearest licence file up the tree, then package metadata. Several licence files in one
  // folder give "A AND B" unless their names or the metadata say OR. Contradictory statements all apply, and
  // an unrecognised licence file makes the licence unknown.
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
  // Licences of built packages, by their folder of installation.
  std::map<std::string, std::map<std::string, Folder>, std::less<>> distributions_;
};

// Whether a file of that name is package metadata: METADATA, PKG-INFO, pyproject.toml, package.json.
bool is_metadata_file(std::string_view path);

// Whether the allowed list satisfies the expression: MIT satisfies "MIT OR GPL-3.0-only" but not "MIT AND
// GPL-3.0-only". False for an empty or invalid expression.
bool allowed(std::string_view spdx, const std::vector<std::string>& allow_list);

// The restrictions on use in an expression, each as "ID restricts WHAT".
std::vector<std::string> restrictions_in(std::string_view spdx);

// The expression in canonical spelling, if each of its ids is an SPDX identifier that this program knows, or
// a LicenseRef.
std::optional<std::string> known_expression(std::string_view text);

// Permissive licences: MIT, Apache-2.0, BSD-2-Clause, BSD-3-Clause, ISC, ...
const std::vector<std::string>& permissive();

// The notice at a file's head, with the details for the tree of licences.
struct Notice {
  std::string spdx;
  std::size_t line = 1;
  bool of_a_part =
      false;  // it applies to third-party code in the file; the tree's licence applies to the rest
};

std::optional<Notice> read_notice(std::string_view bytes);

}  // namespace kw::licence
