// The service's HTTP requests, one function each, without retries. A response, or its absence, becomes JSON
// or a ServiceFailure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "base/http/client.h"
#include "verify/remote/service.h"

namespace kw::remote {

// `name` is the service's name in messages, `advice` the remedy if it refuses the key.
struct Asked {
  std::string name;
  std::string what;  // "GET /v1/service"
  std::string advice;
};

Answer<boost::json::object> read_answer(std::expected<http::Response, http::Failure> outcome,
                                        const Asked& asked);

// The state of one evaluation according to the service.
struct Standing {
  std::string id;
  std::string state;         // "queued", "running", "done", "cancelled", "unknown"
  boost::json::object said;  // the complete evaluation
  bool is_over() const { return state == "done" || state == "cancelled"; }
};

class Api {
 public:
  // The error describes the fault of the URL.
  static Result<std::shared_ptr<Api>> make(async::Loop& loop, const Options& options);

  // "the evaluator at https://host".
  const std::string& name() const { return name_; }

  async::Task<Answer<ServiceInfo>> facts(async::Stop& stop);
  // A service that is not ready is a valid result here.
  async::Task<Answer<Health>> health(async::Stop& stop);
  async::Task<Answer<std::string>> protocol(JobOptions options, async::Stop& stop);

  async::Task<Answer<std::vector<Standing>>> submit(boost::json::array evaluations, async::Stop& stop);
  // Returns those that have ended or are unknown, as soon as there is one or after the given time.
  async::Task<Answer<std::vector<Standing>>> poll(std::vector<std::string> ids,
                                                  std::chrono::milliseconds wait, async::Stop& stop);
  async::Task<Answer<>> cancel(std::string id, async::Stop& stop);

 private:
  Api(async::Loop& loop, const Options& options, std::string base, std::string name);

  struct Question {
    std::string method;
    std::string path;
    std::string body{};
    std::chrono::milliseconds on_top{0};  // time that the service may wait on purpose
  };
  async::Task<std::expected<http::Response, http::Failure>> send(Question question, async::Stop& stop);
  async::Task<Answer<boost::json::object>> ask(Question question, async::Stop& stop);

  http::Client client_;
  http::Headers keys_;
  std::string base_;  // without a slash at its end
  std::string name_;
  std::string advice_;
  std::chrono::milliseconds request_time_;
};

}  // namespace kw::remote
