// `kernelwright doctor`: reports capabilities of this machine (sandbox, Python and its packages, GPUs),
// missing parts, and remedies.
#pragma once

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "doctor_server.h"

namespace kw::app {

// `kernelwright doctor`: reports capabilities of this machine, missing parts, and remedies.
struct DoctorOptions {
  std::string python;
  std::string vllm_url;  // examine this server instead of this machine
  std::string model;     // of that server, if it lists several
  std::string launch;    // the line or script that starts it
  bool json = false;
  std::string output;  // empty: standard output
  bool quiet = false;
};

void add_doctor(CLI::App& app, DoctorOptions& options);

// 0 if this machine can judge candidates, or the server can be used; 1 if a required part is missing.
int doctor(const DoctorOptions& options);

// Sets `probe` to the report of this machine's Python. If `chosen_python` is empty, searches for a Python.
Findings examine_machine(const std::string& chosen_python, boost::json::object& probe);

}  // namespace kw::app
