// Whose fault it was: what a refusal or a judgement makes of a verdict.
#pragma once

#include "engine/exchange.h"
#include "schema/verdict.h"
#include "verify/settings.h"

namespace kw::verify {

// A runner that failed or was lost: the kernel's fault, unless the runner says it was ours.
struct RunnerLoss {
  Stage stage = Stage::run;
  Device device = Device::cpu;
  bool in_launch = false;
  std::string printed;  // its last words
};
void blame_candidate(Verdict& verdict, const engine::Refusal& refusal, const RunnerLoss& where);

// An oracle that failed or was lost: the task's fault, or ours.
void blame_task(Verdict& verdict, const engine::Refusal& refusal, Stage stage);

void blame_infrastructure(Verdict& verdict, Stage stage, const Error& error);

// What the oracle said of the outputs.
void take_judgement(Verdict& verdict, const wire::JudgedT& judged);

// A refusal that a stop caused is no verdict at all.
bool was_stopped(const engine::Refusal& refusal);

// At reduced shapes a wrong result is no proof, since a candidate may be made for the given shape.
void forgive_at_reduced_shapes(Verdict& verdict);

}  // namespace kw::verify
