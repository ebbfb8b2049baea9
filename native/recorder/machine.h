// The state that the parts of the recorder share: the functions of driver and CUPTI, found at run time, and
// the last error.
#pragma once

#include <cupti.h>

#include <string>

#include "driver.h"

#define KW_CUPTI_FUNCTIONS(F) \
  F(cuptiSubscribe) F(cuptiUnsubscribe) F(cuptiEnableCallback) F(cuptiEnableDomain) F(cuptiGetResultString)

namespace kw::recorder {

struct Cupti {
#define KW_MEMBER(name) decltype (&::name)(name) = nullptr;
  KW_CUPTI_FUNCTIONS(KW_MEMBER)
#undef KW_MEMBER
};

// Fills the table. Returns an empty text, or the name of the missing library or function.
const char* load(Cupti& cupti);

// The state that the parts of the recorder share: the functions found at run time, and the last error.
struct Machine {
  driver::Driver driver;
  Cupti cupti;
  bool has_driver = false;
};

// One per process; tests put their own functions into it and set has_driver.
Machine& machine();

// Loads the driver's functions unless they are loaded already.
bool need_driver();

// Sets the text of kwrec_error(), the last error.
void set_error(std::string text);
// Sets it to "CALL: CUDA_ERROR_..." and returns false if the result is a failure.
bool succeeded(CUresult result, const char* call);
const char* error_text();

// Marks this thread's driver calls during its lifetime as the recorder's own, which are not recorded.
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
