// What a score must not write over.
#pragma once

#include "base/result.h"
#include "flags/score_flags.h"

namespace kw::app {

// Whether everything that will be written may be: it is none of the inputs, whatever name they go by, nor a
// file that this program has not written; and its folder takes files. An Error says which, before hours are
// spent.
Result<> check_written(const ScoreFlags& flags);

// Sheets and results in which a person's labels stand are renamed (score.review.1.csv), and that is said.
Result<> keep_labels(const ScoreFlags& flags);

}  // namespace kw::app
