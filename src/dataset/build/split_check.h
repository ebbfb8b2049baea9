// Searches the rows of a build for code of the validation split in the training split.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "code/similarity/code_tokens.h"
#include "dataset/build/build_summary.h"
#include "dataset/build/split.h"
#include "dataset/build/unit_store.h"

namespace kw::dataset {

struct ValidationFunction {
  std::string text;
  near::Language language = near::Language::python;
};

// The functions of the families of validation, also those that are no rows.
Result<std::vector<ValidationFunction>> validation_functions(const UnitStore& units, const UnitSplit& split);

// Line numbers from 0 in the file of rows.
struct ValidationCode {
  std::vector<std::uint64_t> train_rows;  // training rows with a whole function of validation
  std::vector<std::uint64_t> answers;     // validation rows whose completion is in a training row
  std::uint64_t functions = 0;            // that were searched for
  std::uint64_t functions_found = 0;
  std::uint64_t answers_searched = 0;
};

// Compares tokens: comments and layout do not matter, names do. The two sides of a hole are joined with its
// middle first. Completions of fewer than 32 tokens are not searched for.
Result<ValidationCode> find_validation_code(const std::filesystem::path& rows,
                                            const std::vector<ValidationFunction>& functions,
                                            unsigned threads);

// Removes both kinds of rows from the file, and measures what is left. Returns the units that lost all of
// their rows by this.
Result<std::set<std::string>> keep_validation_apart(const std::filesystem::path& rows,
                                                    const std::vector<ValidationFunction>& functions,
                                                    unsigned threads, SplitFacts& facts);

}  // namespace kw::dataset
