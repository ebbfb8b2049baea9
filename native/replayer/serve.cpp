#include <unistd.h>

#include <cstdio>

#include "channel.h"
#include "server.h"
#include "worker.h"

namespace kw::replayer {
namespace {

Outcome<std::unique_ptr<Worker>> started(driver::Driver& driver, int device) {
  if (const char* missing = driver::load(driver); *missing != '\0')
    return infrastructure(std::string(missing) +
                          " is missing: the NVIDIA driver is not installed, or too old");
  if (device < 0) return infrastructure("a replayer needs a device");
  return Worker::start(driver, device);
}

}  // namespace

int serve_replays(int control, int device) {
  static driver::Driver driver;  // as long as anything of the device
  auto worker = started(driver, device);
  if (!worker) std::fprintf(stderr, "%s\n", worker.error().error.c_str());
  while (auto packet = receive_packet(control)) {
    std::string reply;
    auto request = wire::decode(packet->bytes);
    if (!worker)
      reply = wire::encode(failed(worker.error()));
    else if (!request)
      reply = wire::encode(failed({"infrastructure", request.error().what}));
    else
      reply = (*worker)->answer(*request, packet->fds);
    if (!send_packet(control, reply)) break;
    if (worker && (*worker)->spent()) break;
  }
  // Taking all down in order costs time, and with a broken context fails: the driver cleans up after a
  // process.
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace kw::replayer
