// `kernelwright doctor`: what this machine can do, what is missing, how to fix it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kw::app {

struct DoctorOptions {
  std::string python;
  bool json = false;
};

void add_doctor(CLI::App& app, DoctorOptions& options);

// 0 where candidates can be judged here, 1 where something needed is missing.
int doctor(const DoctorOptions& options);

}  // namespace kw::app
