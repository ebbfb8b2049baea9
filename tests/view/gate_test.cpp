// Which requests are answered, by their headers.
#include "view/gate.h"

#include <gmock/gmock.h>

namespace kw::view {
namespace {

using testing::HasSubstr;

int status_of(Gate& gate, const http::Request& head) {
  auto refusal = gate.refusal(head);
  return refusal ? refusal->status : 200;
}

http::Request get(const std::string& target, http::Headers headers) {
  return {"GET", target, std::move(headers), "", "127.0.0.1"};
}

TEST(Host, OfLoopbackIsOurs) {
  Gate gate({});
  for (const char* host : {"127.0.0.1:8472", "localhost:9000", "[::1]:8472", "127.0.0.2"})
    EXPECT_EQ(status_of(gate, get("/api/index", {{"Host", host}})), 200) << host;
}

TEST(Host, OfAnotherNameIsRefused) {
  Gate gate({});
  for (const char* host : {"evil.example:8472", "127.0.0.1.evil.example", "192.0.2.7:8472", "localhost.evil"})
    EXPECT_EQ(status_of(gate, get("/api/index", {{"Host", host}})), 421) << host;
}

TEST(Host, IsNeededOnce) {
  Gate gate({});
  EXPECT_EQ(status_of(gate, get("/", {})), 400);
  EXPECT_EQ(status_of(gate, get("/", {{"Host", "localhost"}, {"Host", "localhost"}})), 400);
}

TEST(Host, BeyondLoopbackMayBeAnAddressOrAGivenName) {
  Gate gate({.names = {.hosts = {"gpu7"}, .any_address = true}});
  EXPECT_EQ(status_of(gate, get("/", {{"Host", "192.0.2.7:8472"}})), 200);
  EXPECT_EQ(status_of(gate, get("/", {{"Host", "GPU7:8472"}})), 200);
  EXPECT_EQ(status_of(gate, get("/", {{"Host", "evil.example"}})), 421);
}

TEST(Origin, MustBeTheHost) {
  Gate gate({});
  auto with = [&](const std::string& origin) {
    return status_of(gate, get("/api/index", {{"Host", "localhost:8472"}, {"Origin", origin}}));
  };
  EXPECT_EQ(with("http://localhost:8472"), 200);
  EXPECT_EQ(with("https://localhost:8472"), 200);
  for (const char* other :
       {"http://localhost:3000", "http://evil.example", "null", "http://localhost:8472.evil"})
    EXPECT_EQ(with(other), 403) << other;
}

TEST(SecFetchSite, OfAnotherSiteGetsThePageAndNoData) {
  Gate gate({});
  auto from = [&](const std::string& target, const std::string& site) {
    return status_of(gate, get(target, {{"Host", "localhost"}, {"Sec-Fetch-Site", site}}));
  };
  EXPECT_EQ(from("/", "cross-site"), 200);
  EXPECT_EQ(from("/api/index", "same-origin"), 200);
  EXPECT_EQ(from("/api/index", "none"), 200);
  EXPECT_EQ(from("/api/index", "cross-site"), 403);
  EXPECT_EQ(from("/api/index", "same-site"), 403);
}

TEST(Key, IsNeededForEverythingButItsForm) {
  Gate gate({.key = "open sesame"});
  const http::Headers host = {{"Host", "localhost"}};
  EXPECT_EQ(status_of(gate, get("/", host)), 200);
  EXPECT_FALSE(gate.is_known(get("/", host)));
  EXPECT_EQ(status_of(gate, get("/api/index", host)), 401);
  EXPECT_EQ(
      status_of(gate, get("/api/index", {{"Host", "localhost"}, {"Authorization", "Bearer open sesame"}})),
      200);
}

TEST(Ticket, IsExchangedOnceForACookie) {
  Gate gate({.key = "open sesame"});
  const std::string ticket = gate.ticket();
  EXPECT_FALSE(gate.exchange_ticket("another"));
  auto cookie = gate.exchange_ticket(ticket);
  ASSERT_TRUE(cookie);
  EXPECT_THAT(*cookie, HasSubstr("HttpOnly; SameSite=Strict"));
  EXPECT_FALSE(gate.exchange_ticket(ticket));
  EXPECT_FALSE(gate.exchange_ticket(""));
  std::string pair = cookie->substr(0, cookie->find(';'));
  EXPECT_EQ(status_of(gate, get("/api/index", {{"Host", "localhost"}, {"Cookie", "a=b; " + pair}})), 200);
  EXPECT_EQ(status_of(gate, get("/api/index", {{"Host", "localhost"}, {"Cookie", pair + "0"}})), 401);
}

TEST(Ticket, OfAServerWithoutAKeyDoesNotExist) {
  Gate gate({});
  EXPECT_EQ(gate.ticket(), "");
  EXPECT_FALSE(gate.exchange_ticket(""));
  EXPECT_FALSE(gate.exchange_key("", "127.0.0.1"));
}

TEST(Cookie, OfHttpsIsSecure) {
  Gate gate({.key = "k", .secure = true});
  EXPECT_THAT(*gate.exchange_key("k", "127.0.0.1"), HasSubstr("; Secure"));
}

TEST(WrongKeys, AreCounted) {
  Gate gate({.key = "open sesame"});
  int status = 0;
  for (int i = 0; i < 20; ++i)
    status = status_of(gate, get("/api/index", {{"Host", "localhost"}, {"X-API-Key", std::to_string(i)}}));
  EXPECT_EQ(status, 429);
}

TEST(WrongKeys, OfAnAddressEndItsGuessing) {
  for (const char* path : {"/api/index", "/"}) {
    Gate gate({.key = "open sesame"});
    http::Request right = get(path, {{"Host", "localhost"}, {"X-API-Key", "open sesame"}});
    for (int i = 0; i < 100; ++i) EXPECT_EQ(status_of(gate, right), 200);
    std::string cookie = *gate.exchange_key("open sesame", "127.0.0.1");
    for (int i = 0; i < 20; ++i)
      status_of(gate, get(path, {{"Host", "localhost"}, {"X-API-Key", std::to_string(i)}}));
    EXPECT_EQ(status_of(gate, right), 429) << path;
    http::Request by_cookie =
        get(path, {{"Host", "localhost"}, {"Cookie", cookie.substr(0, cookie.find(';'))}});
    EXPECT_EQ(status_of(gate, by_cookie), 200);
    right.peer = "10.0.0.2";
    EXPECT_EQ(status_of(gate, right), 200);
  }
}

TEST(WrongKeys, OfTheFormAreCountedAfterTheyWereTried) {
  Gate gate({.key = "open sesame"});
  http::Request form{"POST", "/enter", {{"Host", "localhost"}}, "", "127.0.0.1"};
  int tries = 0;
  for (; tries < 100 && status_of(gate, form) == 200; ++tries) {
    EXPECT_EQ(status_of(gate, form), 200);  // the server asks before and after the body
    gate.exchange_key("wrong", form.peer);
  }
  EXPECT_EQ(tries, 10);
}

TEST(Write, NeedsTheToken) {
  Gate gate({});
  http::Request post{"POST", "/api/review", {{"Host", "localhost"}}, "", "127.0.0.1"};
  EXPECT_EQ(status_of(gate, post), 403);
  post.headers.push_back({"X-Kernelwright-Token", gate.token()});
  EXPECT_EQ(status_of(gate, post), 200);
  post.headers.push_back({"Origin", "http://evil.example"});
  EXPECT_EQ(status_of(gate, post), 403);
}

TEST(Method, OfAPreflightIsRefused) {
  Gate gate({});
  for (const char* method : {"OPTIONS", "PUT", "DELETE", "TRACE"})
    EXPECT_EQ(status_of(gate, {method, "/api/review", {{"Host", "localhost"}}, "", ""}), 405) << method;
}

}  // namespace
}  // namespace kw::view
