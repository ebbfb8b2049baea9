#include "service_world.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/async/wait.h"
#include "types/job.h"

namespace kw::service::test {

using namespace std::chrono_literals;

namespace {

// A disk may take 100 ms to sync a write, and a sanitizer makes all slower.
constexpr auto patience = 60s;

class FakeResponder : public http::Responder {
 public:
  FakeResponder(std::shared_ptr<async::Event> gone) : gone_(std::move(gone)) {}

  async::Task<> send(http::Response response) override {
    answer = {response.status, std::move(response.headers), std::move(response.body), 0};
    co_return;
  }
  async::Task<> begin(http::Response) override { co_return; }
  async::Task<bool> write(std::string) override { co_return false; }
  async::Task<> end() override { co_return; }
  void reset() override {}
  bool gone() const override { return gone_->is_set(); }
  async::Task<> until_gone() override { return gone_->wait(); }

  Answer answer;

 private:
  std::shared_ptr<async::Event> gone_;
};

async::Task<> handled(Service* service, http::Request request, std::shared_ptr<async::Event> gone,
                      std::optional<Answer>* into, int* answers) {
  FakeResponder responder(gone);
  co_await service->handle(request, responder);
  responder.answer.number = ++*answers;
  *into = std::move(responder.answer);
}

void rethrow(const std::exception_ptr& thrown) {
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace

Verdict correct_verdict(const Job& job) {
  Verdict verdict;
  verdict.id = job.id;
  verdict.task_id = job.task.task_id;
  verdict.candidate_sha256 = candidate_sha256(job.candidate.code);
  verdict.status = Status::correct;
  verdict.stage = Stage::done;
  verdict.counts = true;
  verdict.speedup = 1.5;
  verdict.environment.torch = "2.11";
  verdict.environment.protocol = "p0";
  return verdict;
}

Verdict infrastructure_fault(const Job& job) {
  Verdict verdict = correct_verdict(job);
  verdict.status = Status::error;
  verdict.fault = Fault::infrastructure;
  verdict.error_class = ErrorClass::infrastructure;
  verdict.error = "the fork server died";
  verdict.counts.reset();
  return verdict;
}

std::string FakeVerifier::protocol_with(const JobOptions& options) const {
  return options.correctness_trials ? "p" + std::to_string(*options.correctness_trials) : protocol_;
}

void FakeVerifier::hold() {
  gate_ = std::make_shared<async::Event>(loop_);
}

void FakeVerifier::release() {
  auto gate = std::exchange(gate_, nullptr);
  if (gate) gate->set();
}

async::Task<std::optional<Verdict>> FakeVerifier::verify(const Job& job, async::Stop& stop) {
  begun.push_back(job.id);
  most_running = std::max(most_running, ++running);
  auto gate = gate_;
  if (gate)
    co_await async::within(async::Deadline::never(), ignores_stops ? nullptr : &stop,
                           [](auto open) -> async::Task<bool> {
                             co_await open->wait();
                             co_return true;
                           }(gate));
  --running;
  if (stop.requested()) {
    stopped.push_back(job.id);
    co_return std::nullopt;
  }
  co_return verdict(job);
}

json::object Answer::body() const {
  auto value = json::parse(text);
  return value.is_object() ? value.get_object() : json::object();
}

std::string Answer::at(std::string_view key) const {
  json::object object = body();
  const json::value* value = object.if_contains(key);
  if (!value) return "absent";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

std::string Answer::error(std::string_view key) const {
  const json::value value = body().at("error").at(key);
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

World::World() {
  options.store = folder.path("service.db");
  open();
  judge();
}

World::~World() {
  end();
}

Result<> World::try_open() {
  auto opened = Service::open(loop, stop, options);
  if (!opened) return std::unexpected(opened.error());
  service = std::move(*opened);
  return {};
}

void World::open() {
  auto opened = try_open();
  ASSERT_TRUE(opened) << opened.error().what;
}

void World::judge() {
  service->judge_with(verifier, facts);
  settle();
}

// The verifications are stopped, as their processes would be, and no client is told.
void World::kill() {
  service.reset();
  verifier.hold();
  verifier.begun.clear();
}

void World::end() {
  if (!service) return;
  bool ended = false;
  verifier.release();
  boost::asio::co_spawn(loop, service->drain(0ms), [&](const std::exception_ptr&) { ended = true; });
  until([&] { return ended; });
  service.reset();
}

void World::until(const std::function<bool()>& so) {
  auto deadline = async::Deadline::in(patience);
  loop.restart();
  while (!so() && !deadline.passed()) loop.run_for(1ms), loop.restart();
  ASSERT_TRUE(so()) << "it did not come to that";
}

// A slow machine may spend the 3 ms on one handler: all that are ready run.
void World::settle() {
  loop.restart();
  loop.run_for(3ms);
  do loop.restart();
  while (loop.poll() > 0);
}

std::shared_ptr<async::Event> World::begin(http::Request request, std::optional<Answer>* into) {
  auto gone = std::make_shared<async::Event>(loop);
  boost::asio::co_spawn(loop, handled(service.get(), std::move(request), gone, into, &answers), rethrow);
  return gone;
}

Answer World::ask(http::Request request) {
  std::optional<Answer> answer;
  begin(std::move(request), &answer);
  until([&] { return answer.has_value(); });
  return answer.value_or(Answer{});
}

Answer World::get(const std::string& target) {
  return ask({"GET", target});
}

Answer World::del(const std::string& target) {
  return ask({"DELETE", target});
}

Answer World::post(const std::string& target, const std::string& body) {
  return ask({"POST", target, {{"Content-Type", "application/json"}}, body});
}

Answer World::post(const std::string& target, const json::object& body) {
  return post(target, json::serialize(body));
}

Answer World::submit(const std::string& id, json::object more) {
  return post("/v1/evaluations", evaluation(id, std::move(more)));
}

std::string World::state_of(const std::string& id) {
  return get("/v1/evaluations/" + id).at("state");
}

void World::until_state(const std::string& id, const std::string& state) {
  std::string seen;
  auto deadline = async::Deadline::in(patience);
  while ((seen = state_of(id)) != state && !deadline.passed()) settle();
  ASSERT_EQ(seen, state);
}

json::object evaluation(const std::string& id, json::object more) {
  json::object body{
      {"id", id}, {"reference_code", "def reference_impl(x): return x"}, {"kernel_code", "# " + id}};
  for (const auto& [key, value] : more) body[key] = value;
  return body;
}

}  // namespace kw::service::test
