#include "service/service.h"

#include "service/responses.h"

namespace kw::service {
namespace {

Refusal not_yet() {
  return {503, "starting", "the service has not started yet", "", 5};
}

class NoDesk : public EvaluationDesk {
 public:
  async::Task<Answered<std::vector<Receipt>>> submit(std::vector<Submission>) override {
    co_return refuse(not_yet());
  }
  async::Task<Answered<std::vector<std::optional<Record>>>> find(std::vector<std::string>) override {
    co_return refuse(not_yet());
  }
  async::Task<Answered<std::vector<std::optional<Record>>>> wait(std::vector<std::string>,
                                                                 async::Deadline) override {
    co_return refuse(not_yet());
  }
  async::Task<Answered<std::optional<Record>>> cancel(std::string, std::string) override {
    co_return refuse(not_yet());
  }
};

}  // namespace

struct Service::State {
  NoDesk desk;
  Routes routes;
};

Service::Service(std::unique_ptr<State> state) : state_(std::move(state)) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::open(async::Loop&, async::Stop&, Options) {
  return std::unique_ptr<Service>(new Service(std::make_unique<State>()));
}

void Service::judge_with(verify::Verifier&, Facts) {}

async::Task<> Service::handle(const http::Request&, http::Responder& responder) {
  co_await responder.send(refusal_response(not_yet()));
}

async::Task<> Service::drain(std::chrono::milliseconds) {
  co_return;
}

EvaluationDesk& Service::desk() {
  return state_->desk;
}
Routes& Service::routes() {
  return state_->routes;
}

}  // namespace kw::service
