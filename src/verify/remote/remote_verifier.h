// The verifier that uses a service.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "verify/api/verifier.h"
#include "verify/remote/courier.h"
#include "verify/remote/service.h"

namespace kw::remote {

class RemoteVerifier : public verify::Verifier {
 public:
  // Requests the service's description and waits while it starts. The error states the cause: an unknown
  // host, another program at that address, a refused key, or refused options.
  static async::Task<Result<std::unique_ptr<RemoteVerifier>>> start(async::Loop& loop, async::Stop& stop,
                                                                    Options options);
  ~RemoteVerifier() override;

  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override;
  std::size_t width() const override;
  const std::string& protocol() const override { return protocol_; }
  // Sends no request: options that differ from the common ones have a separate protocol name.
  std::string protocol_with(const JobOptions& options) const override;
  async::Task<Result<std::string>> find_protocol(JobOptions options) override;

  const ServiceInfo& facts() const { return facts_; }

  // Waits briefly until the service has cancelled the stopped evaluations.
  async::Task<> end() { return courier_->end(); }

 private:
  RemoteVerifier(async::Loop& loop, Options options, std::shared_ptr<Api> api, ServiceInfo facts,
                 std::string protocol);
  unsigned begin_try(const std::string& work);
  async::Task<std::optional<Verdict>> carry_out(const Job& job, boost::json::object request,
                                                async::Stop& stop);
  async::Task<Result<Verdict>> believed(const Delivery& delivery, const Job& job, async::Stop& stop);
  void look_again();

  async::Loop& loop_;
  Options options_;
  std::shared_ptr<Api> api_;
  ServiceInfo facts_;
  std::string protocol_;
  async::Stop nobody_;                        // for requests that no job's stop ends
  std::map<std::string, std::string> found_;  // protocols by options, as JSON
  std::unique_ptr<Courier> courier_;
  std::map<std::string, unsigned> tried_;  // by work: number of tries without a verdict
  std::set<std::string> under_way_;        // ids
  async::SteadyClock::time_point looked_at_ = async::SteadyClock::now();
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace kw::remote
