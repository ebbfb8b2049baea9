// RunInfo: what a run was made with.
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace kw::store {

struct RunInfo {
  boost::json::object settings;  // its identity: going on with others is refused
  std::string config_toml;       // all settings, as they were resolved
  std::string program_version;
  std::string git_revision;
  std::string created_at;  // ISO 8601, UTC; set by the store
};

}  // namespace kw::store
