// `kernelwright train`: an adapter out of rows. `train merge`: the adapter into its base model.
#pragma once

#include "flags/train_flags.h"

namespace kw::app {

using kw::TrainFlags;

// `verb` is the parsed verb. The exit status: 0 where it came to its end, 1 where something failed, 2 where
// flags do not go together, 130 where a signal stopped it.
int train(const TrainFlags& flags, const CLI::App& verb);

}  // namespace kw::app
