// A model whose rows the test sets, and a viewer of it on a real socket.
#pragma once

#include <boost/asio/read.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/http/client.h"
#include "base/http/server.h"
#include "support/run_task.h"
#include "support/world.h"
#include "view/library.h"
#include "view/page.h"
#include "view/viewer.h"

namespace kw::view::test {

namespace json = boost::json;

// Shared by the test and the model, which lives on another thread.
class Rows {
 public:
  void add(const std::string& key, json::object detail, const std::string& standing = "right") {
    std::scoped_lock lock(mutex_);
    detail["key"] = key;
    keys_.push_back(key);
    standings_.push_back(standing);
    details_[key] = json::serialize(detail);
    ++version_;
  }
  int version() {
    std::scoped_lock lock(mutex_);
    return version_;
  }
  // From now on, reading throws.
  void refuse(const std::string& why) {
    std::scoped_lock lock(mutex_);
    refusal_ = why;
  }
  void check_refusal() {
    std::scoped_lock lock(mutex_);
    if (!refusal_.empty()) throw std::runtime_error(refusal_);
  }
  std::string index() {
    std::scoped_lock lock(mutex_);
    json::array keys(keys_.begin(), keys_.end());
    json::array standings(standings_.begin(), standings_.end());
    return json::serialize(json::object{
        {"sources", json::array{json::object{{"state", "unfinished"}}}},
        {"rows", json::object{{"count", keys_.size()},
                              {"columns", json::object{{"key", keys}, {"standing", standings}}}}}});
  }
  std::optional<std::string> detail(const std::string& key) {
    std::scoped_lock lock(mutex_);
    auto found = details_.find(key);
    return found == details_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> keys_;
  std::vector<std::string> standings_;
  std::map<std::string, std::string> details_;
  int version_ = 1;
  std::string refusal_;
};

class RowsModel : public Model {
 public:
  explicit RowsModel(std::shared_ptr<Rows> rows) : rows_(std::move(rows)) {}
  Result<> read() override {
    seen_ = rows_->version();
    return {};
  }
  Result<bool> refresh() override {
    rows_->check_refusal();
    int before = seen_;
    seen_ = rows_->version();
    return seen_ != before;
  }
  std::string index() override { return rows_->index(); }
  Result<std::optional<std::string>> detail(const std::string& key) override { return rows_->detail(key); }

 private:
  std::shared_ptr<Rows> rows_;
  int seen_ = 0;
};

inline json::object verdict_detail(const std::string& task, const std::string& code) {
  return {{"kind", "verdict"},
          {"kernel_code", code},
          {"verdict", json::object{{"task_id", task}, {"candidate_sha256", "sha of " + code}}}};
}

inline LivePage page_with(const std::string& token) {
  return {"<html><meta name=\"kernelwright-live\" content=\"" + token + "\"></html>",
          "default-src 'none'; connect-src 'self'; frame-ancestors 'none'"};
}

struct World {
  World() : rows(std::make_shared<Rows>()) { path = folder.write("traces.json", "[]"); }
  ~World() { end(); }

  ModelReader reader() {
    return {[this](const std::vector<std::string>&) { return std::make_unique<RowsModel>(rows); },
            [](const std::string& each) -> std::optional<RunFacts> {
              if (!each.ends_with(".json")) return {};
              return RunFacts{.name = std::filesystem::path(each).filename().string(), .kind = "traces"};
            },
            [](const std::string&) { return std::vector<std::string>{}; }};
  }

  void open() {
    auto opened = Library::open(loop, reader(), {path});
    ASSERT_TRUE(opened) << opened.error().what;
    library = std::move(*opened);
    options.page = page_with;
    viewer = std::make_unique<Viewer>(loop, *library, gate, options);
    http::ServerOptions at;
    at.max_body_bytes = options.most_body_bytes;
    at.turn_away = [this](const http::Request& head) { return viewer->turn_away(head); };
    at.refusal = unread_response;
    auto listening =
        http::Server::listen(loop, at, [this](const http::Request& request, http::Responder& responder) {
          return viewer->handle(request, responder);
        });
    ASSERT_TRUE(listening) << listening.error().what;
    server = std::move(*listening);
    token = token_of(ask("GET", "/").body);
  }

  void end() {
    if (viewer) viewer->stop();
    if (server) server->stop();
    loop.restart();
    loop.run_for(std::chrono::milliseconds(50));
    server.reset();
    viewer.reset();
    library.reset();
  }

  static std::string token_of(const std::string& page) {
    std::string mark = "name=\"kernelwright-live\" content=\"";
    auto begin = page.find(mark);
    if (begin == page.npos) return {};
    begin += mark.size();
    return page.substr(begin, page.find('"', begin) - begin);
  }

  // `early`: called with each piece of the body; false ends the request.
  http::Response ask(const std::string& method, const std::string& target, http::Headers headers = {},
                     std::string body = "", http::OnBody early = {}) {
    http::Client client(loop, {.connect_timeout = std::chrono::seconds(5), .use_environment_proxy = false});
    http::Request request{method, server->url() + target, std::move(headers), std::move(body)};
    auto answer = kw::test::run_task(
        loop, client.send(request, async::Deadline::in(std::chrono::seconds(20)), nullptr, early));
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().what);
    return answer ? *answer : http::Response{};
  }
  http::Response get(const std::string& target, http::Headers headers = {}) {
    return ask("GET", target, std::move(headers));
  }
  http::Response label(const json::object& body) {
    return ask("POST", "/api/review", {{"X-Kernelwright-Token", token}}, json::serialize(body));
  }

  Folder folder;
  std::string path;
  std::shared_ptr<Rows> rows;
  GateOptions gate;
  ViewerOptions options;
  async::Loop loop;
  std::unique_ptr<Library> library;
  std::unique_ptr<Viewer> viewer;
  std::unique_ptr<http::Server> server;
  std::string token;
};

}  // namespace kw::view::test
