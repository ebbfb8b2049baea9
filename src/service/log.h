// Log: lines of JSON to a descriptor. Whoever should read them and does not never holds up the service: lines
// are left out then, and their number is told later.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace kw::service {

class Log {
 public:
  // The descriptor stays the caller's; -1: nothing is written.
  explicit Log(int descriptor) : descriptor_(descriptor) {}

  // "at" and "event" come first.
  void line(std::string_view event, const boost::json::object& fields);
  bool is_on() const { return descriptor_ >= 0; }

 private:
  void put(std::string_view event, const boost::json::object& fields);
  void flush();

  int descriptor_;
  std::string pending_;
  std::size_t lost_ = 0;
};

}  // namespace kw::service
