#include "async/stop.h"

namespace kw::async {

Stop::Stop(Loop& loop, Stop& whole) : whole_(&whole), requested_(loop) {
  whole.parts_.push_back(this);
  if (whole.requested()) request(whole.cause());
}

Stop::~Stop() {
  if (whole_ != nullptr) std::erase(whole_->parts_, this);
}

void Stop::request(std::string cause) {
  if (requested()) return;
  cause_ = std::move(cause);
  requested_.set();
  for (Stop* part : parts_) part->request(cause_);
}

}  // namespace kw::async
