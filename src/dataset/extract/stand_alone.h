// Definitions of a source with all that they need, as one piece of code that stands alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataset/extract/harvest.h"

namespace kw::harvest {

struct StandAlone {
  std::string text;
  // Of CUDA: the lines of the files that `text` has code of, without those of these files themselves.
  std::vector<std::string> includes;
  std::vector<std::string> missing;  // wanted or needed names that no file defines; sorted
};

// The definitions of `names` and of what they need, in an executable order. The files are all of one language
// and one origin; Python names are of the first file, CUDA names of any. Names in `given` are defined
// elsewhere, and are not followed.
StandAlone stand_alone(const std::vector<std::shared_ptr<const ParsedFile>>& files,
                       const std::vector<std::string>& names, const std::vector<std::string>& given);

}  // namespace kw::harvest
