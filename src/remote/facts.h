// What a service says of itself: GET /v1/service and GET /health.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kw::remote {

struct Facts {
  std::string version;
  std::string protocol;
  std::string device;  // "cpu", "cuda"
  std::vector<std::string> gpus;
  std::size_t width = 1;
  std::size_t max_body_bytes = std::size_t{1} << 20;
  std::size_t max_batch = 1;
};

// Nothing where this is no answer of Kernelwright's service.
std::optional<Facts> read_facts(const boost::json::object& object);

struct Health {
  std::string status;  // "ready", "starting", "draining", "failing"
  std::string why;
};

}  // namespace kw::remote
