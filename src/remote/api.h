// The service's HTTP, one request each. Nothing is tried again here.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <memory>
#include <string>
#include <vector>

#include "async/stop.h"
#include "http/client.h"
#include "remote/facts.h"
#include "remote/options.h"
#include "remote/trouble.h"

namespace kw::remote {

// Where one evaluation stands, as the service says.
struct Standing {
  std::string id;
  std::string state;         // "queued", "running", "done", "cancelled", "unknown"
  boost::json::object said;  // all of it
  bool is_over() const { return state == "done" || state == "cancelled"; }
};

class Api {
 public:
  // The error says what is wrong with the URL.
  static Result<std::shared_ptr<Api>> make(async::Loop& loop, const Options& options);

  // "the evaluator at https://host".
  const std::string& name() const { return name_; }

  async::Task<Answer<Facts>> facts(async::Stop& stop);
  // Not ready is no trouble here: it is the answer.
  async::Task<Answer<Health>> health(async::Stop& stop);
  async::Task<Answer<std::string>> protocol(JobOptions options, async::Stop& stop);

  async::Task<Answer<std::vector<Standing>>> submit(boost::json::array evaluations, async::Stop& stop);
  // Those of them that are over or unknown, once there is one or the time has passed.
  async::Task<Answer<std::vector<Standing>>> poll(std::vector<std::string> ids,
                                                  std::chrono::milliseconds wait, async::Stop& stop);
  async::Task<Answer<>> cancel(std::string id, async::Stop& stop);

 private:
  Api(async::Loop& loop, const Options& options, std::string base, std::string name);

  struct Question {
    std::string method;
    std::string path;
    std::string body{};
    std::chrono::milliseconds on_top{0};  // that it may wait on purpose
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
