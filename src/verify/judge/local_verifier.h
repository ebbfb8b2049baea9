// The verifier that runs candidates on this machine.
#pragma once

#include <memory>
#include <vector>

#include "base/async/semaphore.h"
#include "types/certificate.h"
#include "verify/api/verifier.h"
#include "verify/judge/censuses.h"
#include "verify/judge/context.h"
#include "verify/judge/devices.h"
#include "verify/workers/installation.h"

namespace kw::verify {

class LocalVerifier : public Verifier {
 public:
  struct Options {
    Settings settings;
    engine::Installation installation;
    engine::Python python;
    std::vector<Gpu> gpus;  // those to use; empty for Device::cpu
    std::string program_version;
    std::shared_ptr<Timeline> timeline = {};  // null: none is kept
  };

  // Starts the fork servers and waits until they are warm.
  static async::Task<Result<std::unique_ptr<LocalVerifier>>> start(async::Loop& loop, async::Stop& stop,
                                                                   Options options);

  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override;
  std::size_t width() const override;
  const std::string& protocol() const override { return protocol_; }
  std::string protocol_with(const JobOptions& options) const override;

  // Examines the task of a job that has no candidate. Nothing if a stop was requested.
  async::Task<std::optional<TaskCertificate>> certify(const Job& task, async::Stop& stop);
  // The key of the certificate: everything that can change it.
  std::string certificate_work(const Job& task) const;

  // Ends all started processes, in order.
  async::Task<> end();

 private:
  struct Lane;
  LocalVerifier(async::Loop& loop, async::Stop& stop, Options options);
  async::Task<Result<>> start_server(engine::ServerMode mode, std::shared_ptr<engine::ForkServer>* place);
  async::Task<Result<>> start_servers();
  async::Task<Result<>> start_python_servers();
  async::Task<Result<>> start_replay_servers();
  async::Task<> revive_servers(async::Stop& stop);
  engine::SpareWorkers::Options spare_runners(const Gpu* gpu, std::size_t count, bool recorded) const;
  engine::SpareWorkers::Options wide_replayers(const Gpu* gpu) const;
  engine::SpareWorkers::Options spare_replayers(const Gpu* gpu, std::size_t count) const;
  std::size_t audits_at_once(std::size_t width) const;
  void open_lanes();
  Lane& least_busy();

  async::Loop& loop_;
  async::Stop& stop_;
  Options options_;
  std::shared_ptr<engine::ForkServer> zygote_;
  Servers servers_;
  SecretSeeds seeds_;
  std::string protocol_;
  std::string why_no_replay_;
  async::Semaphore reviving_;  // one at a time
  Censuses censuses_;
  std::vector<std::unique_ptr<Lane>> lanes_;

 public:
  ~LocalVerifier() override;
};

}  // namespace kw::verify
