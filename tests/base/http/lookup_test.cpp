// Name lookup when the system fails.
#include <gtest/gtest.h>
#include <pthread.h>

#include "base/http/opener.h"
#include "world.h"

namespace kw::http::test {
namespace {

using namespace std::chrono_literals;

// New threads ask for a stack larger than any machine's memory, so that none can be created.
class WithoutThreads {
 public:
  WithoutThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t none;
    pthread_getattr_default_np(&none);
    pthread_attr_setstacksize(&none, std::size_t{1} << 46);
    pthread_setattr_default_np(&none);
    pthread_attr_destroy(&none);
  }
  ~WithoutThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  WithoutThreads(const WithoutThreads&) = delete;
  WithoutThreads& operator=(const WithoutThreads&) = delete;

 private:
  pthread_attr_t before_;
};

TEST(Lookup, WithoutAThreadToAskOnItFailsAtOnceAndWorksLater) {
  async::Loop loop;
  Lookup lookup(loop);
  {
    WithoutThreads none;
    auto began = async::SteadyClock::now();
    auto found = kw::test::run_task(loop, lookup.find("localhost", 80, async::Deadline::in(5s)));
    EXPECT_EQ(found.error, boost::asio::error::try_again) << found.error.message();
    EXPECT_LT(async::ms_since(began), 2000);
  }
  auto found = kw::test::run_task(loop, lookup.find("localhost", 80, async::Deadline::in(5s)));
  EXPECT_FALSE(found.error) << found.error.message();
  EXPECT_FALSE(found.endpoints.empty());
}

}  // namespace
}  // namespace kw::http::test
