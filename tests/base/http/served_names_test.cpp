// Requests of other sites, which a page in a browser or a name that is bound anew may send.
#include "base/http/served_names.h"

#include <gtest/gtest.h>

namespace kw::http {
namespace {

TEST(HostOf, IsTheNameWithoutItsPort) {
  EXPECT_EQ(host_of("127.0.0.1:8472"), "127.0.0.1");
  EXPECT_EQ(host_of("LocalHost."), "localhost");
  EXPECT_EQ(host_of("[::1]:80"), "::1");
  for (const char* bad :
       {"", "[::1", "[x]:1", "a:b", "a:1234567", "a/b", "a b", "user@host", "[::1]x", "a\xc3"})
    EXPECT_EQ(host_of(bad), "") << bad;
}

int status_of(Headers headers, const ServedNames& names = {}) {
  auto refusal = refuse_other_sites({"POST", "/mcp", std::move(headers), "", "127.0.0.1"}, names);
  return refusal ? refusal->status : 200;
}

TEST(OtherSites, AreRefusedByHostOriginOrFetchMetadata) {
  EXPECT_EQ(status_of({{"Host", "localhost:8473"}}), 200);
  EXPECT_EQ(status_of({{"Host", "localhost:8473"}, {"Origin", "http://localhost:8473"}}), 200);
  EXPECT_EQ(status_of({{"Host", "evil.example"}}), 421);
  EXPECT_EQ(status_of({{"Host", "localhost:8473"}, {"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(status_of({{"Host", "localhost:8473"}, {"Origin", "http://localhost:3000"}}), 403);
  EXPECT_EQ(status_of({{"Host", "localhost:8473"}, {"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(status_of({}), 400);
}

TEST(OtherSites, AreNotThoseOfAGivenName) {
  const ServedNames names{.hosts = {"gpu7"}, .any_address = true};
  EXPECT_EQ(status_of({{"Host", "GPU7:8473"}}, names), 200);
  EXPECT_EQ(status_of({{"Host", "192.0.2.7"}}, names), 200);
  EXPECT_EQ(status_of({{"Host", "gpu8"}}, names), 421);
}

}  // namespace
}  // namespace kw::http
