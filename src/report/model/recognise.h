// Recognises the inputs of a report by their contents.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "report/model/index.h"

namespace kw::report {

struct Found {
  std::string path;
  SourceKind kind = SourceKind::traces;
  bool of_kernelbench = false;  // verdicts in an eval_results.json
};

// The input at the path, or the inputs in a folder and its direct subfolders, by name. "-" is standard input.
// Exports of a run that the folder has as well are left out.
Result<std::vector<Found>> recognise_inputs(const std::string& path);

// The files with the rows of a data set's folder: one a kind, with the metadata where there are any.
std::vector<std::filesystem::path> dataset_files(const std::filesystem::path& folder);

}  // namespace kw::report
