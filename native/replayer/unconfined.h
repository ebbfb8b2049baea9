// Without the sandbox: the processes and packets of confine.h, and none of its layers.
#pragma once

#include <string>

namespace kw::replayer {

// In a forked child: returns in a grandchild of it alone, which is watched by another that removes `folder`
// when it has ended.
void enter_unconfined(int status_fd, const std::string& folder);

}  // namespace kw::replayer
