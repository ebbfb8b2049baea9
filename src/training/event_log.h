// log.jsonl: every event of a training with the time at which it came.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>

#include "base/fd.h"
#include "base/result.h"

namespace kw::training {

class EventLog {
 public:
  // Appends to what is there; a last line that was cut off by a crash is ended first.
  static Result<EventLog> open(const std::filesystem::path& file);

  // Adds "time", UTC. One write a line, so that a reader sees whole lines. An error once: what follows a
  // failed write is not tried.
  Result<> add(boost::json::object event);

 private:
  EventLog(std::filesystem::path path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::filesystem::path path_;
  Fd fd_;
};

}  // namespace kw::training
