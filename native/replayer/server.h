// The parent of the replayers: forks one, in the sandbox, for each Spawn. It never touches a device itself.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kw::replayer {

// Answers Ready, then forks until the other end is gone. `serve` runs in each child, on its control socket
// and with the device's ordinal; its result is the child's exit status. Returns the server's own.
int serve_forks(int control, const std::function<int(int control, int device)>& serve);

// What a replayer does: answers requests until the other end is gone, or its context is.
int serve_replays(int control, int device);

}  // namespace kw::replayer
