// The output folder of a training: whether it may be used, and how an earlier training in it differs from a
// new job.
#pragma once

#include <filesystem>
#include <string>

#include "base/core/files.h"
#include "base/core/result.h"
#include "train/job/job.h"

namespace kw::training {

// The output folder of a training: whether it may be used, and results of an earlier training in it.
enum class Start { anew, resume, fresh };

inline constexpr const char* job_file = "train.job.json";
inline constexpr const char* recipe_file = "recipe.toml";
inline constexpr const char* events_file = "log.jsonl";
inline constexpr const char* output_file = "train.stderr.log";

// Checks whether the job may use its folder; changes nothing. Refuses, with a remedy: a folder with an
// adapter or checkpoints unless --resume or --fresh is given, a folder with other files, a folder that
// another training uses, and a resume with another model, recipe or data, with each difference.
Result<> check_output(const Job& job, Start start);

// Creates the folder with the job and the recipe. With Start::fresh, renames an existing folder to FOLDER.1,
// or to the next free number.
Result<> prepare_output(const Job& job, Start start);

// The file for the trainer's output, opened for appending. Its holder has the lock of the folder.
Result<Fd> open_output_file(const std::filesystem::path& folder);

// An error lists every difference in model, data files, steps and recipe between the job and the one stored
// in its output folder. Files may have moved: their content counts. The intervals of saving and logging may
// change.
Result<> check_same(const Job& job);

}  // namespace kw::training
