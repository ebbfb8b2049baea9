// Implements recorder.h: the start of the recorder, recordings, and PyTorch's allocator.
#pragma once

namespace kw::recorder {

// Notes that CUPTI has called back.
void was_called();

}  // namespace kw::recorder
