// What the parts of the recorder share: the functions found at run time, and what went wrong.
#pragma once

#include <string>

#include "driver.h"
#include "profiler.h"

namespace kw::recorder {

struct Machine {
  driver::Driver driver;
  Cupti cupti;
  bool has_driver = false;
};

// One a process; tests put functions of their own into it and set has_driver.
Machine& machine();

// Loads the driver's functions if they are not there yet.
bool need_driver();

// The text of kwrec_error(): the last thing that went wrong.
void set_error(std::string text);
// Sets it to "CALL: CUDA_ERROR_..." where the result is a failure. True where it is none.
bool succeeded(CUresult result, const char* call);
const char* error_text();

// The driver calls that this thread makes meanwhile are the recorder's own: they are not recorded.
class Quiet {
 public:
  Quiet() { ++depth_; }
  ~Quiet() { --depth_; }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  static bool on() { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

}  // namespace kw::recorder
