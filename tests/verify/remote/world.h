// A service on loopback that keeps evaluations in memory, judges them at once, and misbehaves on request; and
// a verifier that asks it.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "base/http/server.h"
#include "support/run_task.h"
#include "verify/remote/remote_verifier.h"

namespace kw::remote::test {

using namespace std::chrono_literals;
using kw::test::run_task;

struct Evaluation {
  boost::json::object request;
  std::string state = "queued";
  boost::json::object verdict;
  std::string cause;
};

class FakeService {
 public:
  explicit FakeService(async::Loop& loop) : loop_(loop), changed_(loop) { start(); }

  // Acts as a process that is killed and started again at the same port.
  void start();
  void kill() { server_.reset(); }
  std::string url() const { return url_; }

  // Judges the queue in the order of submission.
  void judge_all();

  // For tests to change.
  std::function<std::optional<http::Response>(const http::Request&)> instead;  // of the usual answer
  std::function<void(Evaluation&)> judging = [](Evaluation&) {};  // called after the verdict was made
  bool judges_at_once = true;
  boost::json::object facts;  // added to the usual ones
  std::string health = "ready";
  std::string protocol = "0123456789abcdef";

  // For tests to read.
  std::map<std::string, Evaluation> store;
  std::vector<std::string> order;                 // ids in the order of submission
  std::map<std::string, int> judged;              // how often, by id
  std::map<std::string, int> asked;               // requests by "METHOD /path", ids left out
  std::vector<std::size_t> batches;               // sizes
  std::vector<boost::json::object> options_seen;  // by POST /v1/protocol
  std::size_t most_connections = 0;
  http::Headers last_headers;

 private:
  async::Task<> handle(const http::Request& request, http::Responder& responder);
  std::string protocol_of(const boost::json::object& options) const;
  http::Response submit(const boost::json::object& body);
  async::Task<http::Response> poll(boost::json::object body);
  void judge(const std::string& id);

  async::Loop& loop_;
  async::Event changed_;
  std::string url_;
  std::uint16_t port_ = 0;
  std::unique_ptr<http::Server> server_;
};

http::Response json_response(int status, const boost::json::value& body, http::Headers headers = {});
http::Response error_response(int status, std::string message, std::string field = "",
                              http::Headers headers = {});
// The service's usual verdict: correct, under this protocol.
boost::json::object correct_verdict(const boost::json::object& request, const std::string& protocol);

Job job(std::size_t number);

// Runs concurrently with the test's waits.
void beside(async::Loop& loop, async::Task<> meanwhile);
async::Task<> sleep(std::chrono::milliseconds wait);

struct World {
  World();

  // Starts a verifier with `options`; an empty URL means this service's.
  Result<> connect();
  // The verdict on one job; on many at once, in their order.
  std::optional<Verdict> verify(const Job& job);
  std::vector<std::optional<Verdict>> verify_all(std::size_t count);

  async::Loop loop;
  async::Stop stop{loop};
  FakeService service{loop};
  Options options;
  std::vector<std::string> said;
  std::unique_ptr<RemoteVerifier> verifier;
};

}  // namespace kw::remote::test
