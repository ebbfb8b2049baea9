// Courier: carries evaluations to a service and brings back how they ended. Many are under way over few
// connections; a service that is away for a while, or that has forgotten them, gets them again by their ids.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <string>

#include "async/stop.h"
#include "remote/api.h"
#include "remote/options.h"
#include "remote/trouble.h"

namespace kw::remote {

// What is carried: `body` is an evaluation's request and holds its id.
struct Parcel {
  std::string id;
  boost::json::object body;
  std::size_t bytes = 0;
};

// How it ended.
struct Delivery {
  enum class End { done, cancelled, stopped, failed };
  End end = End::failed;
  boost::json::object said;  // of done and cancelled ones: the evaluation, as the service tells it
  bool was_over = false;     // when it was handed in: somebody had asked for it before us
  Trouble trouble;           // of failed ones
};

class Courier {
 public:
  Courier(async::Loop& loop, std::shared_ptr<Api> api, const Options& options, const Facts& facts);
  ~Courier();

  // Parcels under way at one time must have different ids. A stop cancels the evaluation at the service.
  async::Task<Delivery> carry(Parcel parcel, async::Stop& stop);

  // Waits until what was stopped has been cancelled at the service, though not for long.
  async::Task<> end();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace kw::remote
