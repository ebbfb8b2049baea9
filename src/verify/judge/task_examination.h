// Examines a task without a candidate: `certify`.
#pragma once

#include "types/certificate.h"
#include "verify/judge/blame.h"
#include "verify/judge/context.h"
#include "verify/judge/oracle_side.h"

namespace kw::verify {

class TaskExamination {
 public:
  // `task` is a job without a candidate. All must outlive the examination.
  TaskExamination(Context& context, const Job& task, const Settings& settings, async::Stop& stop);

  // Runs the reference in an oracle and releases every process and lease. A reference that fails is a fault
  // of the task; the certificate contains all that was found before.
  async::Task<TaskCertificate> run();

 private:
  async::Task<Outcome<>> prepare();
  async::Task<Outcome<>> examine();
  async::Task<Outcome<>> take_facts();
  async::Task<Outcome<>> try_shapes();
  void take_error(const Ended& ended);

  const Settings& settings_;
  StageTimes times_;
  bool is_alone_ = false;
  Timeline::Row row_;
  Case case_;
  OracleSide oracle_;
  DeviceShare device_;
  TaskCertificate found_;
};

}  // namespace kw::verify
