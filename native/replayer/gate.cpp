#include "gate.h"

#include <atomic>

namespace kw::replayer {

Outcome<Gate> Gate::make(const driver::Driver& driver) {
  Gate gate(driver);
  auto word = Pinned::make(driver, sizeof(std::uint32_t));
  if (!word) return std::unexpected(word.error());
  gate.word_ = std::move(*word);
  auto found = checked(driver, driver.cuMemHostGetDevicePointer(&gate.address_, gate.word_.bytes().data(), 0),
                       "finding the gate's address");
  if (!found) return infrastructure(found.error().error);
  gate.write(0);
  return gate;
}

void Gate::write(std::uint32_t value) {
  // A kernel may have written here; a stream and we are the only ones who read.
  auto* word = reinterpret_cast<std::uint32_t*>(word_.bytes().data());
  std::atomic_ref(*word).store(value, std::memory_order_seq_cst);
}

CUresult Gate::close(CUstream stream) {
  write(ticket_);
  CUresult result = driver_->cuStreamWaitValue32(stream, address_, ticket_ + 1, CU_STREAM_WAIT_VALUE_EQ);
  if (result != CUDA_SUCCESS) return result;
  ++ticket_;
  closed_ = true;
  return CUDA_SUCCESS;
}

void Gate::open() {
  if (closed_) write(ticket_);
  closed_ = false;
}

}  // namespace kw::replayer
