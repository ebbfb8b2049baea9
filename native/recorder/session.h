// The state of the whole: whether CUPTI calls us.
#pragma once

namespace kw::recorder {

// A callback has come.
void was_called();

}  // namespace kw::recorder
