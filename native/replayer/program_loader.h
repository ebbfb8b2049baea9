// How a Program is made of a recording.
#pragma once

#include "program.h"

namespace kw::replayer {

class ProgramLoader {
 public:
  ProgramLoader(const driver::Driver& driver, const recording::Recording& recording)
      : driver_(driver), recording_(recording) {}

  Outcome<Program> load();

 private:
  Outcome<> load_module(const recording::Cubin& cubin);
  Outcome<> find_variables(const recording::Cubin& cubin, CUmodule module);
  Outcome<> add_launch(std::size_t operation, const recording::Launch& launch);
  Outcome<Function*> function(Program::Module& module, const std::string& name);
  Outcome<> set_attributes(const recording::Launch& launch, Function& function);
  Outcome<> take_parameters(ReadyLaunch& launch);

  const driver::Driver& driver_;
  const recording::Recording& recording_;
  Program program_;
  std::size_t variable_bytes_ = 0;
};

}  // namespace kw::replayer
