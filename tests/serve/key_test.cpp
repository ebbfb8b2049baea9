#include <gtest/gtest.h>

#include "base/http/access.h"

namespace kw::service {
namespace {

bool admitted(const http::Headers& headers) {
  return http::KeyCheck("secret").admits(headers);
}

TEST(Key, ComesInThreeWays) {
  EXPECT_TRUE(admitted({{"Authorization", "Bearer secret"}}));
  EXPECT_TRUE(admitted({{"authorization", "bearer  secret"}}));
  EXPECT_TRUE(admitted({{"X-API-Key", "secret"}}));
  EXPECT_TRUE(admitted({{"Authorization", "Basic YW55Ym9keTpzZWNyZXQ="}}));  // anybody:secret
}

TEST(Key, ThatIsAnotherOrNoneIsNotEnough) {
  EXPECT_FALSE(admitted({}));
  EXPECT_FALSE(admitted({{"Authorization", "Bearer"}}));
  EXPECT_FALSE(admitted({{"Authorization", "Bearer secre"}}));
  EXPECT_FALSE(admitted({{"Authorization", "Basic c2VjcmV0OnNlY3JldHM="}}));  // secret:secrets
  EXPECT_FALSE(admitted({{"Authorization", "Basic !"}}));
  EXPECT_FALSE(admitted({{"X-API-Key", "Secret"}}));
}

TEST(Key, IsNotNeededWhereThereIsNone) {
  EXPECT_TRUE(http::KeyCheck("").admits({}));
}

}  // namespace
}  // namespace kw::service
