// The code of a recording on the device: its modules, their functions, and every launch made ready.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "device_memory.h"
#include "fault.h"
#include "verify/recording/elf.h"
#include "verify/recording/recording.h"

namespace kw::replayer {

// The code of a recording on the device: its modules, their functions, and every launch made ready.
struct Function {
  CUfunction handle = nullptr;
  int registers = -1;
  int local_bytes = -1;    // per thread: spills and local arrays
  int shared_bytes = -1;   // static
  std::uint64_t code = 0;  // see recording::code_key
};

// Points into the recording, which outlives it.
struct ReadyLaunch {
  std::size_t operation = 0;
  const recording::Launch* recorded = nullptr;
  const Function* function = nullptr;
  std::string cubin_sha256;
  std::vector<void*> parameters;  // one for each; empty if they are passed as one buffer
  std::vector<CUlaunchAttribute> attributes;
};

class Program {
 public:
  // Unsupported if the driver refuses the code, or a launch does not match its function.
  static Outcome<Program> load(const driver::Driver& driver, const recording::Recording& recording);

  const std::vector<ReadyLaunch>& launches() const { return launches_; }
  bool has(std::size_t operation) const { return numbers_.contains(operation); }
  // The launch of this operation, which must be a launch.
  const ReadyLaunch& at(std::size_t operation) const { return launches_[numbers_.at(operation)]; }
  std::size_t number_of(std::size_t operation) const { return numbers_.at(operation); }

  CUresult enqueue(const driver::Driver& driver, std::size_t operation, CUstream stream) const;

  // Gives every variable of the modules the value that it had when the call began.
  Outcome<> restore_variables(const driver::Driver& driver, CUstream stream) const;

 private:
  struct Variable {
    CUdeviceptr address = 0;
    std::string bytes;  // in memory that no kernel can access
  };
  struct Module {
    CUmodule handle = nullptr;
    Release unload;
    std::unordered_map<std::string, Function> functions;
  };
  friend class ProgramLoader;

  std::vector<Module> modules_;
  std::vector<Variable> variables_;
  std::vector<ReadyLaunch> launches_;
  std::unordered_map<std::size_t, std::size_t> numbers_;  // operation → launch
};

// Loads a Program from a recording.
class ProgramLoader {
 public:
  ProgramLoader(const driver::Driver& driver, const recording::Recording& recording)
      : driver_(driver), recording_(recording) {}

  Outcome<Program> load();

 private:
  Outcome<> load_module(const recording::Cubin& cubin);
  Outcome<> find_variables(const recording::Cubin& cubin, CUmodule module);
  Outcome<> add_launch(std::size_t operation, const recording::Launch& launch);
  Outcome<Function*> function(std::size_t cubin, const std::string& name);
  Outcome<> set_attributes(const recording::Launch& launch, Function& function);
  Outcome<> take_parameters(ReadyLaunch& launch);

  const driver::Driver& driver_;
  const recording::Recording& recording_;
  Program program_;
  std::vector<recording::Elf> images_;  // of the modules
  std::size_t variable_bytes_ = 0;
};

}  // namespace kw::replayer
