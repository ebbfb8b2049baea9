// The verifier that asks a service.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "remote/courier.h"
#include "remote/options.h"
#include "verify/verifier.h"

namespace kw::remote {

class RemoteVerifier : public verify::Verifier {
 public:
  // Asks the service what it is, and waits while it starts. The error says what is wrong: no such host,
  // another program at that address, a key that it does not take, options that it refuses.
  static async::Task<Result<std::unique_ptr<RemoteVerifier>>> start(async::Loop& loop, async::Stop& stop,
                                                                    Options options);
  ~RemoteVerifier() override;

  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override;
  std::size_t width() const override;
  const std::string& protocol() const override { return protocol_; }
  // The service is not asked: options that are not those of all have a name of their own.
  std::string protocol_with(const JobOptions& options) const override;
  async::Task<Result<std::string>> find_protocol(JobOptions options) override;

  const Facts& facts() const { return facts_; }

  // Waits until what was stopped has been cancelled there, though not for long.
  async::Task<> end() { return courier_->end(); }

 private:
  RemoteVerifier(async::Loop& loop, Options options, std::shared_ptr<Api> api, Facts facts,
                 std::string protocol);
  unsigned begin_try(const std::string& work);
  async::Task<std::optional<Verdict>> carry_out(const Job& job, boost::json::object request,
                                                async::Stop& stop);
  async::Task<Result<Verdict>> believed(const Delivery& delivery, const Job& job, async::Stop& stop);
  void look_again();

  async::Loop& loop_;
  Options options_;
  std::shared_ptr<Api> api_;
  Facts facts_;
  std::string protocol_;
  async::Stop nobody_;                        // for what no job's stop ends
  std::map<std::string, std::string> found_;  // protocols by options, as JSON
  std::unique_ptr<Courier> courier_;
  std::map<std::string, unsigned> tried_;  // by work: tries that gave no verdict
  std::set<std::string> under_way_;        // ids
  async::SteadyClock::time_point looked_at_ = async::SteadyClock::now();
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace kw::remote
