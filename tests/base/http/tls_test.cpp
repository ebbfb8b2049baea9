// TLS and proxies.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tls_world.h"

namespace kw::http::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

struct TlsTest : testing::Test {
  std::string url(const std::string& host, const TlsServer& server) const {
    return fmt::format("https://{}:{}/path", host, server.port());
  }

  Certificate certificate = make_certificate("127.0.0.1");
  TemporaryFile ca{certificate.certificate};
};

TEST_F(TlsTest, ATrustedServerIsAskedOverOneConnection) {
  World world({.ca_file = ca.path()});
  TlsServer server(world.loop, certificate);
  for (int i = 0; i < 3; ++i) {
    auto answer = world.get(url("127.0.0.1", server));
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_THAT(answer->body, HasSubstr("GET /path HTTP/1.1\r\n"));
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(TlsTest, ALargeRequestTravels) {
  World world({.ca_file = ca.path()});
  TlsServer server(world.loop, certificate);
  auto answer = world.post(url("127.0.0.1", server), std::string(10'000, 'x'));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_THAT(answer->body, HasSubstr("Content-Length: 10000\r\n"));
}

TEST_F(TlsTest, TheEnvironmentMayNameTheAuthority) {
  WithVariable variable("SSL_CERT_FILE", ca.path());
  World world;
  TlsServer server(world.loop, certificate);
  auto answer = world.get(url("127.0.0.1", server));
  EXPECT_TRUE(answer) << answer.error().what;
}

TEST_F(TlsTest, AnUnknownAuthorityIsRefused) {
  World world;
  TlsServer server(world.loop, certificate);
  auto answer = world.get(url("127.0.0.1", server));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::tls);
  EXPECT_THAT(answer.error().what, HasSubstr("self-signed"));
  EXPECT_THAT(answer.error().remedy, HasSubstr("SSL_CERT_FILE"));
}

TEST_F(TlsTest, ACertificateOfAnotherHostIsRefused) {
  World world({.ca_file = ca.path()});
  TlsServer server(world.loop, certificate);
  auto answer = world.get(url("localhost", server));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::tls);
  EXPECT_THAT(answer.error().what, HasSubstr("mismatch"));
}

TEST_F(TlsTest, OldVersionsAreRefused) {
  World world({.ca_file = ca.path()});
  TlsServer server(world.loop, certificate);
  server.only_old_versions();
  auto answer = world.get(url("127.0.0.1", server));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::tls);
}

TEST_F(TlsTest, AMissingFileOfAuthoritiesIsNamed) {
  World world({.ca_file = "/no/such/file.pem"});
  TlsServer server(world.loop, certificate);
  auto answer = world.get(url("127.0.0.1", server));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::tls);
  EXPECT_THAT(answer.error().what, HasSubstr("/no/such/file.pem"));
}

TEST_F(TlsTest, AServerWithoutTlsIsNamed) {
  World world({.ca_file = ca.path()});
  auto server = world.serve(echo);
  auto answer = world.get(fmt::format("https://127.0.0.1:{}/", server->port()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::tls);
  EXPECT_THAT(answer.error().remedy, HasSubstr("https"));
}

TEST_F(TlsTest, AHandshakeThatNeverEndsTimesOut) {
  World world({.connect_timeout = 50ms, .ca_file = ca.path()});
  RawServer server(world.loop,
                   [](tcp::socket& socket, int) -> async::Task<> { co_await until_closed(socket); });
  auto answer = world.get(fmt::format("https://127.0.0.1:{}/", server.port()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::timeout);
}

TEST_F(TlsTest, ARedirectToPlainHttpIsNotFollowed) {
  World world({.ca_file = ca.path()});
  auto plain = world.serve(echo);
  TlsServer server(world.loop, certificate);
  server.answer_with(
      fmt::format("HTTP/1.1 302 Found\r\nLocation: {}/\r\nContent-Length: 0\r\n\r\n", plain->url()));
  auto answer = world.get(url("127.0.0.1", server));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::redirected);
}

struct ProxyTest : testing::Test {
  Certificate certificate = make_certificate("model.example");
  TemporaryFile ca{certificate.certificate};
  World world;
  TlsServer server{world.loop, certificate};
  ClientOptions options{.ca_file = ca.path()};
};

TEST_F(ProxyTest, HttpsGoesThroughATunnelAndTheCertificateIsTheServers) {
  TunnelProxy proxy(world.loop, server.port());
  WithVariable variable("https_proxy", proxy.url("user:p%40ss"));
  world.renew(options);
  for (int i = 0; i < 2; ++i) {
    auto answer = world.get("https://model.example/v1");
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_THAT(answer->body, HasSubstr("GET /v1 HTTP/1.1\r\nHost: model.example\r\n"));
    EXPECT_THAT(answer->body, Not(HasSubstr("Proxy-Authorization")));
  }
  EXPECT_EQ(server.connections(), 1);
  EXPECT_THAT(proxy.asked, HasSubstr("CONNECT model.example:443 HTTP/1.1\r\n"));
  EXPECT_THAT(proxy.asked, HasSubstr("Proxy-Authorization: Basic dXNlcjpwQHNz\r\n"));
}

TEST_F(ProxyTest, OneThatRefusesIsNamedWithoutItsPassword) {
  TunnelProxy proxy(world.loop, server.port(), "HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n");
  WithVariable variable("https_proxy", proxy.url("user:secret"));
  world.renew(options);
  auto answer = world.get("https://model.example/v1");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::proxy);
  EXPECT_THAT(answer.error().what, HasSubstr("407"));
  EXPECT_THAT(answer.error().what + answer.error().remedy, Not(HasSubstr("secret")));
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(ProxyTest, OneThatTalksGarbageIsAProxyFault) {
  TunnelProxy proxy(world.loop, server.port(), "no proxy here\r\n\r\n");
  WithVariable variable("https_proxy", proxy.url());
  world.renew(options);
  auto answer = world.get("https://model.example/v1");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::proxy);
}

TEST_F(ProxyTest, PlainHttpAsksItForTheWholeUrl) {
  auto proxy = world.serve(echo);
  WithVariable variable("http_proxy", proxy->url());
  world.renew(options);
  auto answer = world.get("http://model.example/v1?a=b");
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_THAT(answer->body, HasSubstr("GET http://model.example/v1?a=b\n"));
}

TEST_F(ProxyTest, LoopbackIsNeverAskedThroughOne) {
  WithVariable variable("all_proxy", "http://127.0.0.1:1");
  auto plain = world.serve(echo);
  world.renew(options);
  auto answer = world.get(plain->url());
  EXPECT_TRUE(answer) << answer.error().what;
}

}  // namespace
}  // namespace kw::http::test
