// Flags of `train` into a job.
#pragma once

#include "flags/train_flags.h"
#include "training/job.h"

namespace kw::app {

// What flags lack, or what does not go together; nothing is looked at.
Result<> check_words(const TrainFlags& flags);

// The recipe with its changes, the files of data looked into, paths made absolute. Errors name the flag.
Result<training::Job> train_job(const TrainFlags& flags);

// A folder's absolute path, or a name as the hub has them; an error for a folder that is not there.
Result<std::string> model_of(const std::string& given);

// Absolute, without a slash at its end.
std::string folder_of(const std::string& given);

}  // namespace kw::app
