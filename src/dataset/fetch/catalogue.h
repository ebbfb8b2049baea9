// The list of sources that `dataset discover` prints: packages and repositories with kernels under permissive
// licences, each at a pin. scripts/check_catalogue.py checks it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw::fetch {

enum class ListedKind { pypi, git };

std::string_view to_string(ListedKind kind);

// Of the units of a source, before licences and duplicates leave some out.
struct KernelCounts {
  std::uint64_t triton = 0;
  std::uint64_t cuda = 0;
  std::uint64_t pytorch = 0;  // references, not kernels
};

struct ListedSource {
  std::string name = {};
  ListedKind kind = ListedKind::pypi;
  std::string pin = {};      // a version or a commit
  std::string archive = {};  // of a package: the file's name
  std::string sha256 = {};   // of the archive
  std::string url = {};      // of a repository
  std::string licence = {};  // SPDX
  KernelCounts kernels = {};
  std::uint64_t left_out = 0;  // units under another licence, which a build leaves out
  std::string what = {};       // one sentence

  std::vector<std::string> languages() const;  // triton, cuda, pytorch
  // Commands of a shell that fetch the source. None for a source distribution: to fetch it, pip runs its
  // code.
  std::vector<std::string> fetch_commands() const;
  std::string build_command() const;
};

// The list that the program contains, sorted by name.
Result<std::vector<ListedSource>> catalogue();

// Reads a list from its JSON.
Result<std::vector<ListedSource>> read_catalogue(std::string_view json);

// Whether name, languages or description contain the word; case does not matter.
bool matches(const ListedSource& source, std::string_view word);

boost::json::object to_json(const ListedSource& source);

}  // namespace kw::fetch
