// `kernelwright doctor`: what this machine can do, what is missing, how to fix it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kw::app {

struct DoctorOptions {
  std::string python;
  std::string vllm_url;  // look at this server, and not at this machine
  std::string model;     // of that server, where it lists several
  std::string launch;    // the line or script that starts it
  bool json = false;
};

void add_doctor(CLI::App& app, DoctorOptions& options);

// 0 where candidates can be judged here, or the server can be asked; 1 where something needed is missing.
int doctor(const DoctorOptions& options);

}  // namespace kw::app
