#include "fake_driver.h"

#include <sys/stat.h>

#include <algorithm>

#include "fake_functions.h"

namespace kw::fake {

FakeDriver* current = nullptr;

FakeDriver::FakeDriver() {
  current = this;
  fill_table(table_);
}

FakeDriver::~FakeDriver() {
  current = nullptr;
}

Fd FakeDriver::exported(Memory::Store bytes) {
  Fd file = memory_file("exported", "x").value();
  struct stat info{};
  ::fstat(file.get(), &info);
  exports[info.st_ino] = std::move(bytes);
  return file;
}

void FakeDriver::set_variable(const std::string& name, const std::string& bytes) {
  CUdeviceptr address = memory.reserve(0, bytes.size());
  memory.map(address, bytes.size(), std::make_shared<std::string>(bytes));
  variables[name] = {address, bytes.size()};
}

std::string FakeDriver::variable(const std::string& name) const {
  auto [address, bytes] = variables.at(name);
  return read(address, bytes);
}

std::string FakeDriver::read(CUdeviceptr address, std::uint64_t bytes) const {
  std::string result(bytes, '\0');
  return memory.read(address, result.data(), bytes) ? result : "not mapped";
}

CUresult FakeDriver::answer(const char* function) const {
  auto refused = refuse.find(function);
  return refused == refuse.end() ? CUDA_SUCCESS : refused->second;
}

bool FakeDriver::gate_closed() const {
  return gate_word != nullptr && *gate_word != gate_value;
}

CUresult FakeDriver::enqueue(CUstream stream, const char* what, Work work) {
  if (CUresult refused = answer(what); refused != CUDA_SUCCESS) return refused;
  auto found = streams.find(stream);
  if (found == streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  enqueued.emplace_back(what);
  if (gate_closed()) enqueued_behind_gate = std::max(enqueued_behind_gate, ++behind_gate);
  found->second->queue.push_back(std::move(work));
  return CUDA_SUCCESS;
}

CUresult FakeDriver::drain(const Stream* until) {
  for (bool moved = true; moved && broken == CUDA_SUCCESS;) {
    moved = false;
    for (auto each = stream_order.rbegin(); each != stream_order.rend() && !moved; ++each) {
      Stream& stream = *streams.at(*each);
      if (stream.queue.empty() || !stream.queue.front().ready()) continue;
      Work work = std::move(stream.queue.front());
      stream.queue.pop_front();
      now_ms += work.ms;
      if (CUresult result = work.act(); result != CUDA_SUCCESS) broken = result;
      moved = true;
    }
  }
  if (broken != CUDA_SUCCESS) return broken;
  bool stuck = false;
  for (const auto& [handle, stream] : streams)
    if (until == nullptr || stream.get() == until) stuck = stuck || !stream->queue.empty();
  // On a device this would hang.
  return stuck ? CUDA_ERROR_LAUNCH_TIMEOUT : CUDA_SUCCESS;
}

}  // namespace kw::fake
