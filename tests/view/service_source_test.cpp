// The evaluations of a service, copied into a file of verdicts.
#include "view/service_source.h"

#include <gmock/gmock.h>

#include "base/core/files.h"
#include "view_world.h"

namespace kw::view::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A service that gives one part of its list after the other.
struct Service {
  Service() {
    auto listening = http::Server::listen(
        loop, {}, [this](const http::Request& request, http::Responder& responder) -> async::Task<> {
          asked.push_back(request.url);
          authorization = http::header(request.headers, "Authorization");
          std::string body = parts.empty() ? last : parts.front();
          if (!parts.empty()) parts.erase(parts.begin());
          co_await responder.send({status, {}, body});
        });
    server = std::move(*listening);
  }
  ~Service() {
    server->stop();
    loop.restart();
    loop.run_for(std::chrono::milliseconds(20));
  }

  Result<> fetch() { return kw::test::run_task(loop, source->fetch(stop)); }
  void open(const std::string& key = "") {
    auto opened = ServiceSource::open(loop, server->url() + "/", key);
    ASSERT_TRUE(opened);
    source = std::move(*opened);
  }

  async::Loop loop;
  async::Stop stop{loop};
  std::vector<std::string> parts;
  std::string last = R"({"evaluations": [], "next": "9-9"})";
  int status = 200;
  std::vector<std::string> asked;
  std::string authorization;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<ServiceSource> source;
};

TEST(ServiceSource, AppendsVerdictsAndGoesOnWhereItStopped) {
  Service service;
  service.open("secret");
  service.parts = {
      R"({"evaluations": [{"id": "a", "verdict": {"id": "a"}}, {"id": "b", "verdict": null}], "next": "5-2"})"};
  ASSERT_TRUE(service.fetch());
  ASSERT_TRUE(service.fetch());
  EXPECT_EQ(*read_file(service.source->file()), "{\"id\":\"a\"}\n");
  EXPECT_THAT(service.asked.at(0), HasSubstr("after=0-0"));
  EXPECT_THAT(service.asked.at(1), HasSubstr("after=5-2"));
  EXPECT_EQ(service.authorization, "Bearer secret");
}

TEST(ServiceSource, TellsAFaultOnce) {
  Service service;
  service.open();
  service.status = 500;
  std::vector<std::string> faults;
  auto follow =
      service.source->follow(service.stop, [&](const Error& error) { faults.push_back(error.what); });
  async::spawn(service.loop, std::move(follow));
  const auto deadline = async::Deadline::in(std::chrono::seconds(20));
  while (service.asked.size() < 2 && !deadline.passed()) service.loop.run_for(std::chrono::milliseconds(100));
  service.stop.request("the test has ended");
  service.loop.run_for(std::chrono::milliseconds(100));
  EXPECT_THAT(faults, ElementsAre(HasSubstr("answered 500")));
}

TEST(ServiceSource, RemovesItsFile) {
  Service service;
  service.open();
  auto folder = service.source->file().parent_path();
  EXPECT_TRUE(std::filesystem::exists(folder));
  service.source.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(ServiceSource, NamesWhatIsNoService) {
  Service service;
  service.open();
  for (const char* body :
       {"", "[]", "{}", R"({"evaluations": 3, "next": "1-1"})", R"({"evaluations": []})"}) {
    service.last = body;
    EXPECT_FALSE(service.fetch()) << body;
  }
  service.status = 404;
  EXPECT_THAT(service.fetch().error().what, HasSubstr("lists no evaluations"));
  service.status = 401;
  EXPECT_THAT(service.fetch().error().remedy, HasSubstr("KERNELWRIGHT_EVALUATOR_KEY"));
}

}  // namespace
}  // namespace kw::view::test
