#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "doctor.h"
#include "verify.h"
#include "version.h"

namespace {

constexpr int usage = 2;

int run(int argc, char** argv) {
  CLI::App app{"Judges GPU kernels against PyTorch references: right, fast, honest.", "kernelwright"};
  app.set_version_flag("--version", kw_version);
  app.require_subcommand(1);
  app.footer("`kernelwright VERB --help` tells what a verb takes.");

  kw::app::VerifyFlags verify;
  CLI::App* verify_verb = app.add_subcommand("verify", "Candidates in, verdicts out");
  verify.add(*verify_verb);

  kw::app::DoctorOptions doctor;
  CLI::App* doctor_verb =
      app.add_subcommand("doctor", "What this machine can do, what is missing, how to fix it");
  kw::app::add_doctor(*doctor_verb, doctor);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage;
  }
  return verify_verb->parsed() ? kw::app::verify(verify) : kw::app::doctor(doctor);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
