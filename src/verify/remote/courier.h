// Courier: sends evaluations to a service and receives their results. Many are in flight over few
// connections. After an outage, or if the service has lost them, it sends them again under the same ids.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <string>

#include "base/async/wait.h"
#include "verify/remote/api.h"
#include "verify/remote/service.h"

namespace kw::remote {

// An evaluation to send: `body` is its request and contains its id.
struct Parcel {
  std::string id;
  boost::json::object body;
  std::size_t bytes = 0;
};

// The end of an evaluation.
struct Delivery {
  enum class End { done, cancelled, stopped, failed };
  End end = End::failed;
  boost::json::object said;  // if done or cancelled: the evaluation as the service describes it
  bool was_over = false;     // before it was submitted: an earlier request had the same id
  ServiceFailure trouble;    // if failed
};

class Courier {
 public:
  Courier(async::Loop& loop, std::shared_ptr<Api> api, const Options& options, const ServiceInfo& facts);
  ~Courier();

  // Parcels in flight must have different ids. A stop cancels the evaluation at the service.
  async::Task<Delivery> carry(Parcel parcel, async::Stop& stop);

  // Waits briefly until the service has cancelled the stopped evaluations.
  async::Task<> end();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace kw::remote
