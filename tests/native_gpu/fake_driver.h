// A CUDA driver for tests: fills and copies act on host memory, and kernels are functions of the test.
// Streams run only when a caller waits, and then the newest first, in any order that the events allow.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/core/files.h"
#include "driver.h"
#include "fake_memory.h"

namespace kw::fake {

// The arguments of a kernel when it runs.
struct Run {
  Memory& memory;
  std::vector<std::uint64_t> parameters;  // each as a number, large ones by their first bytes
  std::vector<std::string> bytes;         // of each
};

struct Kernel {
  std::vector<std::uint64_t>
      sizes;  // of its parameters, in bytes, each at a multiple of its size, of 8 if larger
  std::function<CUresult(Run&)> body = [](Run&) { return CUDA_SUCCESS; };
  double ms = 1;
  std::function<bool(Run&)> waits = [](Run&) { return false; };  // for what another kernel writes
};

// At most one exists: the driver's functions find it through a global.
class FakeDriver {
 public:
  FakeDriver();
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const driver::Driver& table() const { return table_; }
  // Memory of another process, as a descriptor for import; the test can still access its bytes.
  Fd exported(Memory::Store bytes);
  void set_variable(const std::string& name, const std::string& bytes);
  std::string variable(const std::string& name) const;
  std::string read(CUdeviceptr address, std::uint64_t bytes) const;

  std::map<std::string, Kernel> kernels;
  std::vector<std::string> ran;          // kernels, in the order in which they ran
  std::vector<std::string> enqueued;     // the driver's calls that enqueue, and kernels by name
  std::size_t enqueued_behind_gate = 0;  // the most calls that waited for a closed gate at a time
  std::uint64_t free_bytes = std::uint64_t{1} << 30;
  std::map<std::string, CUresult> refuse;  // by the driver's function: the error that it returns
  bool hints_honoured = true;

  // The following members are for the driver's functions.
  struct Work {
    std::function<bool()> ready;
    std::function<CUresult()> act;
    double ms = 0;
  };
  struct Stream {
    std::deque<Work> queue;
  };
  struct Event {
    std::uint64_t asked = 0;
    std::set<std::uint64_t> come = {0};  // of what was asked for
    double ms = 0;
  };
  CUresult enqueue(CUstream stream, const char* what, Work work);
  CUresult drain(const Stream* until);  // null: everything
  CUresult answer(const char* function) const;
  bool gate_closed() const;

  driver::Driver table_;
  Memory memory;
  std::map<CUstream, std::unique_ptr<Stream>> streams;
  std::vector<CUstream> stream_order;
  std::map<CUevent, Event> events;
  std::map<CUmemGenericAllocationHandle, Memory::Store> handles;
  std::map<std::uint64_t, Memory::Store> exports;  // by inode
  std::map<std::string, std::pair<CUdeviceptr, std::uint64_t>> variables;
  std::map<CUfunction, std::string> functions;
  std::uintptr_t next_handle = 1;
  double now_ms = 0;
  const std::uint32_t* gate_word = nullptr;
  std::uint32_t gate_value = 0;
  std::size_t behind_gate = 0;
  CUresult broken = CUDA_SUCCESS;
};

}  // namespace kw::fake
