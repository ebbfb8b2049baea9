#include "machine.h"

#include <mutex>

namespace kw::recorder {
namespace {

struct LastError {
  std::mutex mutex;
  std::string text;
};

LastError& last_error() {
  static auto* one = new LastError;
  return *one;
}

}  // namespace

thread_local int Quiet::depth_ = 0;

Machine& machine() {
  static auto* one = new Machine;  // PyTorch still calls us while the process ends
  return *one;
}

bool need_driver() {
  static std::mutex loading;
  std::lock_guard lock(loading);
  Machine& all = machine();
  if (all.has_driver) return true;
  if (const char* missing = driver::load(all.driver); *missing != '\0') {
    set_error(std::string("the CUDA driver lacks ") + missing);
    return false;
  }
  all.has_driver = true;
  return true;
}

void set_error(std::string what) {
  std::lock_guard lock(last_error().mutex);
  last_error().text = std::move(what);
}

bool succeeded(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return true;
  set_error(std::string(call) + ": " + driver::name_of(machine().driver, result));
  return false;
}

const char* error_text() {
  // A copy a thread: the pointer stays good while another thread fails.
  static thread_local std::string copy;
  std::lock_guard lock(last_error().mutex);
  copy = last_error().text;
  return copy.c_str();
}

}  // namespace kw::recorder
