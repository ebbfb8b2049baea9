// The functions of the fake driver, for its table.
#pragma once

#include <bit>

#include "fake_driver.h"

namespace kw::fake {

// The only living instance.
extern FakeDriver* current;

void fill_table(driver::Driver& table);
void fill_memory(driver::Driver& table);
void fill_modules(driver::Driver& table);
void fill_streams(driver::Driver& table);

// New handles: numbers that look like pointers.
template <typename Handle>
Handle new_handle() {
  return std::bit_cast<Handle>(current->next_handle++ * 16);
}

inline FakeDriver::Work at_once(std::function<CUresult()> act, double ms = 0.001) {
  return {[] { return true; }, std::move(act), ms};
}

inline CUresult mapped_or(bool done) {
  return done ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

}  // namespace kw::fake
