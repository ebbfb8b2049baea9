// URLs, Location headers and the choice of a proxy, without a socket.
#include "base/http/url.h"

#include <gmock/gmock.h>

#include "world.h"

namespace kw::http {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Url, HasItsParts) {
  Url url = parse_url("HTTPS://User:p%40ss@Example.COM:8443/a/b?c=d#e").value();
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.userinfo, "User:p@ss");
  EXPECT_EQ(url.host, "example.com");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.target, "/a/b?c=d");
  EXPECT_EQ(url.origin(), "https://example.com:8443");
  EXPECT_EQ(url.absolute(), "https://example.com:8443/a/b?c=d");
}

TEST(Url, SchemesHavePortsOfTheirOwn) {
  EXPECT_EQ(parse_url("http://a")->port, 80);
  EXPECT_EQ(parse_url("https://a")->port, 443);
  EXPECT_EQ(parse_url("https://a")->host_header(), "a");
  EXPECT_EQ(parse_url("https://a")->authority(), "a:443");
  EXPECT_EQ(parse_url("http://a:443")->host_header(), "a:443");
  EXPECT_EQ(parse_url("http://a?q")->target, "/?q");
}

TEST(Url, IPv6StandsInBrackets) {
  Url url = parse_url("http://[::1]:8000/v1").value();
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 8000);
  EXPECT_EQ(url.host_header(), "[::1]:8000");
  EXPECT_FALSE(parse_url("http://::1:8000/"));
  EXPECT_FALSE(parse_url("http://[example]/"));
}

TEST(Url, WithoutASchemeTheRemedyIsOne) {
  auto url = parse_url("localhost:8000/v1");
  ASSERT_FALSE(url);
  EXPECT_THAT(url.error().remedy, HasSubstr("http://localhost:8000/v1"));
}

TEST(Url, WhatIsNoUrlIsRefused) {
  for (const char* text : {"", "http://", "http:///x", "ftp://a/", "http://a b/", "http://a/x y",
                           "http://a:0/", "http://a:99999/", "http://a:b/", "http://a\r\nb/", "http://[::1/",
                           "http://a/\nHost: b", "http://\xc3\xa4/"})
    EXPECT_FALSE(parse_url(text)) << text;
}

TEST(Url, AnErrorNeverRepeatsAPassword) {
  for (const char* text : {"user:secret@host", "ftp://user:secret@host/", "http://user:secret@ho st/",
                           "http://user:secret@host:x/", "http://user:secret/more@host/"}) {
    auto url = parse_url(text);
    ASSERT_FALSE(url);
    EXPECT_THAT(url.error().what + url.error().remedy, Not(HasSubstr("secret")));
  }
}

TEST(Url, BytesBeyondAsciiAreEscaped) {
  EXPECT_EQ(parse_url("http://a/\xc3\xa4")->target, "/%C3%A4");
}

TEST(Join, FollowsRelativeReferences) {
  Url base = parse_url("http://a:81/b/c?d=e").value();
  auto joined = [&](const char* reference) { return join(base, reference)->absolute(); };
  EXPECT_EQ(joined("https://x/y"), "https://x/y");
  EXPECT_EQ(joined("//x/y"), "http://x/y");
  EXPECT_EQ(joined("/y?z"), "http://a:81/y?z");
  EXPECT_EQ(joined("y"), "http://a:81/b/y");
  EXPECT_EQ(joined("../y/./z"), "http://a:81/y/z");
  EXPECT_EQ(joined("?z"), "http://a:81/b/c?z");
  EXPECT_EQ(joined("y?next=http://x/"), "http://a:81/b/y?next=http://x/");
  EXPECT_EQ(joined("../../../y/"), "http://a:81/y/");
}

TEST(Join, TakesWhatServersLeaveUnescaped) {
  Url base = parse_url("http://a/").value();
  for (const char* reference : {"/x|y?z={1}", "/50%", "/x[1]", "/\"x\""})
    EXPECT_EQ(join(base, reference)->target, reference);
}

TEST(Loopback, HasManyNames) {
  for (const char* host : {"localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"example.com", "10.0.0.1", "localhost.example.com"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

std::string proxy_of(const ProxySettings& settings, const char* url) {
  auto proxy = proxy_for(settings, parse_url(url).value());
  return !proxy ? "error" : *proxy ? (*proxy)->origin() : "none";
}

TEST(ProxySettings, ChooseByScheme) {
  ProxySettings settings{.http = "http://p:1", .https = "q:2", .except = {}};
  EXPECT_EQ(proxy_of(settings, "http://example.com/"), "http://p:1");
  EXPECT_EQ(proxy_of(settings, "https://example.com/"), "http://q:2");
  EXPECT_EQ(proxy_of(settings, "http://localhost/"), "none");
  EXPECT_EQ(proxy_of(settings, "http://[::1]/"), "none");
}

TEST(ProxySettings, ExceptionsCoverHostsSuffixesAndPorts) {
  ProxySettings settings{
      .http = "p:1", .https = "", .except = {"one.com", ".two.com", "three.com:81", "10.0.0.1"}};
  EXPECT_EQ(proxy_of(settings, "http://one.com/"), "none");
  EXPECT_EQ(proxy_of(settings, "http://sub.one.com/"), "none");
  EXPECT_EQ(proxy_of(settings, "http://someone.com/"), "http://p:1");
  EXPECT_EQ(proxy_of(settings, "http://sub.two.com/"), "none");
  EXPECT_EQ(proxy_of(settings, "http://three.com:81/"), "none");
  EXPECT_EQ(proxy_of(settings, "http://three.com/"), "http://p:1");
  EXPECT_EQ(proxy_of(settings, "http://10.0.0.1/"), "none");
  settings.except = {"*"};
  EXPECT_EQ(proxy_of(settings, "http://other.com/"), "none");
}

TEST(ProxySettings, AnotherKindOfProxyIsAnErrorWithoutItsPassword) {
  auto proxy = proxy_for({.http = "socks5://user:secret@p:1", .https = "", .except = {}},
                         parse_url("http://a.com/").value());
  ASSERT_FALSE(proxy);
  EXPECT_THAT(proxy.error().what, Not(HasSubstr("secret")));
}

TEST(ProxySettings, ComeFromTheEnvironmentLowerCaseFirst) {
  test::WithVariable upper("HTTPS_PROXY", "http://upper:1");
  test::WithVariable lower("https_proxy", "http://lower:1");
  test::WithVariable cgi("HTTP_PROXY", "http://stranger:1");
  test::WithVariable except("NO_PROXY", "a.com, .b.com");
  ProxySettings settings = proxies_from_environment();
  EXPECT_EQ(settings.https, "http://lower:1");
  EXPECT_EQ(settings.http, "");
  EXPECT_THAT(settings.except, testing::ElementsAre("a.com", ".b.com"));
}

}  // namespace
}  // namespace kw::http
