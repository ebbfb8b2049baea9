#include "engine/broker.h"

#include "engine/exchange.h"

namespace kw::engine {

async::Task<std::set<std::string>> attested(std::shared_ptr<ForkServer> server, Limits limits, int kernels,
                                            std::uint32_t capability, async::Deadline deadline) {
  SpawnRequest request;
  request.role = Role::broker;
  request.limits = limits;
  auto worker = co_await server->spawn(std::move(request), deadline);
  if (!worker) co_return std::set<std::string>{};
  wire::AttestT ask;
  ask.capability = capability;
  auto answer =
      co_await exchange<wire::AttestedT>(**worker, wire::encode(std::move(ask)), {kernels}, deadline);
  co_await (*worker)->end();
  if (!answer) co_return std::set<std::string>{};
  co_return std::set<std::string>(answer->message.sha256.begin(), answer->message.sha256.end());
}

}  // namespace kw::engine
