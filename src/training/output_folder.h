// The folder that an adapter is trained into: whether it may be used, and what an earlier training left
// there.
#pragma once

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "training/job.h"

namespace kw::training {

enum class Start { anew, resume, fresh };

inline constexpr const char* job_file = "train.job.json";
inline constexpr const char* recipe_file = "recipe.toml";
inline constexpr const char* events_file = "log.jsonl";
inline constexpr const char* output_file = "train.stderr.log";

// Whether the job may start into its folder. Refused, with what to do: a folder with an adapter or
// checkpoints unless it is resumed or started fresh, one that holds other things, one at which another
// training is at work, and a resume with another model, recipe or data, each difference named. Changes
// nothing.
Result<> check_output(const Job& job, Start start);

// Makes the folder, with the job and the recipe in it. With Start::fresh what was there is renamed to
// FOLDER.1, or the next number that is free.
Result<> prepare_output(const Job& job, Start start);

// Where the trainer's output goes, at its end. Whoever holds it keeps others out of the folder.
Result<Fd> open_output_file(const std::filesystem::path& folder);

}  // namespace kw::training
