// The recording as a file.
#pragma once

#include <string>

#include "base/fd.h"
#include "saved_state.h"
#include "tape.h"

namespace kw::recorder {

// The FlatBuffer of wire/recording.fbs in a sealed memory file. Cubins are hashed here, and only those that
// were launched are written.
Result<Fd> written(Tape::Taken taken, const SavedState& state, const std::string& torch,
                   const std::string& triton);

}  // namespace kw::recorder
