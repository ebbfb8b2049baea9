// g++ 12 destroys a temporary aggregate twice when it is a coroutine's argument. With the address sanitiser
// this case fails there, so that such a compiler is noticed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/run_task.h"

namespace kw::async {
namespace {

struct Aggregate {
  std::string text;
  std::vector<std::string> more;
};

Task<std::size_t> measure(Aggregate aggregate) {
  co_await sleep_until(Deadline::in(std::chrono::milliseconds(1)));
  co_return aggregate.text.size() + aggregate.more.size();
}

Task<std::size_t> pass_a_temporary() {
  co_return co_await measure(
      Aggregate{std::string(100, 'x'), {std::string(100, 'y'), std::string(100, 'z')}});
}

TEST(Coroutine, DestroysATemporaryAggregateOnce) {
  Loop loop;
  EXPECT_EQ(test::run_task(loop, pass_a_temporary()), 102U);
}

}  // namespace
}  // namespace kw::async
