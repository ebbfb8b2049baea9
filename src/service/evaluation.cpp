#include "service/evaluation.h"

namespace kw::service {

std::string_view to_string(State state) {
  switch (state) {
    case State::queued:
      return "queued";
    case State::running:
      return "running";
    case State::done:
      return "done";
    case State::cancelled:
      return "cancelled";
  }
  return "cancelled";
}

}  // namespace kw::service
