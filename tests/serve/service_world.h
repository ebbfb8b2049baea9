// A service over a scripted verifier, asked without sockets.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "serve/service.h"
#include "support/world.h"

namespace kw::service::test {

namespace json = boost::json;

Verdict correct_verdict(const Job& job);
Verdict infrastructure_fault(const Job& job);

class FakeVerifier : public verify::Verifier {
 public:
  explicit FakeVerifier(async::Loop& loop) : loop_(loop) {}

  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override;
  std::size_t width() const override { return wide; }
  const std::string& protocol() const override { return protocol_; }
  std::string protocol_with(const JobOptions& options) const override;

  // Holds every verification until release().
  void hold();
  void release();

  std::size_t wide = 1;
  bool ignores_stops = false;  // ends with its result in spite of a stop, but late
  std::function<Verdict(const Job&)> verdict = correct_verdict;  // may throw
  std::vector<std::string> begun;                                // ids, in order
  std::vector<std::string> stopped;
  std::size_t running = 0;
  std::size_t most_running = 0;

 private:
  async::Loop& loop_;
  std::string protocol_ = "p0";
  std::shared_ptr<async::Event> gate_;  // null: open
};

// The received answer.
struct Answer {
  int status = 0;
  http::Headers headers;
  std::string text;
  int number = 0;  // of all answers, in the order in which they came

  json::object body() const;
  std::string at(std::string_view key) const;  // a member as text: "done", "null", "3"
  std::string error(std::string_view key) const;
  std::string header(std::string_view name) const { return std::string(http::header(headers, name)); }
};

struct World {
  World();
  ~World();

  // Opens the service again, as a restart does; `kill` loses the memory.
  void open();
  void kill();
  void end();
  Result<> try_open();
  void judge();  // begins

  Answer ask(http::Request request);
  Answer get(const std::string& target);
  Answer post(const std::string& target, const std::string& body);
  Answer post(const std::string& target, const json::object& body);
  Answer del(const std::string& target);

  // An evaluation of this id, submitted.
  Answer submit(const std::string& id, json::object more = {});
  std::string state_of(const std::string& id);
  // Runs the loop until the condition holds; the test fails if that takes seconds.
  void until(const std::function<bool()>& so);
  void until_state(const std::string& id, const std::string& state);
  // Runs the loop for a moment.
  void settle();

  // Begins a request, whose answer is stored in `into`. With `gone` its client closes the connection.
  std::shared_ptr<async::Event> begin(http::Request request, std::optional<Answer>* into);

  Folder folder;
  async::Loop loop;
  async::Stop stop{loop};
  FakeVerifier verifier{loop};
  Options options;
  ServiceSetup facts;
  std::unique_ptr<Service> service;
  int answers = 0;
};

// The body of a submission. Candidates of different ids differ, unless `code` says otherwise.
json::object evaluation(const std::string& id, json::object more = {});

}  // namespace kw::service::test
