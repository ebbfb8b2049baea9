// Tells which of several copies of a unit is the original.
#pragma once

#include <string_view>
#include <vector>

#include "dataset/build/unit_store.h"

namespace kw::dataset {

// Without the names of other sources' packages.
FolderRole role_of_folders(std::string_view path);

// Sets `folders`, `sources_with_its_code` and `licence_rank` of all cards. Independent of the order of the
// sources.
void find_originals(std::vector<UnitCard>& cards);

// A total order. The better of two copies is, by the first of these that differs:
//   1. one with a known licence;
//   2. the better role of its folders;
//   3. of the source whose code is in more other sources of the build;
//   4. under a permissive licence, then under fewer licences at once;
//   5. compilable, then of unknown signature, then not tried, then failing;
//   6. of more stars;
//   7. self-contained;
//   8. by name of the source, number of folders, path and id.
bool better(const UnitCard& a, const UnitCard& b);

}  // namespace kw::dataset
