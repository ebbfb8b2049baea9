#include "http/lookup.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/within.h"

namespace kw::http {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

namespace {

// Long enough for a burst of requests, short enough for a name that moves.
constexpr auto kFresh = 30s;

}  // namespace

struct Lookup::Question {
  Question(async::Loop& loop, std::string name) : host(std::move(name)), resolver(loop), answered(loop) {}

  bool stale() const { return answered.is_set() && (error || async::SteadyClock::now() - at > kFresh); }

  std::string host;
  tcp::resolver resolver;
  async::Event answered;
  async::SteadyClock::time_point at;
  boost::system::error_code error;
  std::vector<boost::asio::ip::address> found;
};

async::Task<> Lookup::ask(std::shared_ptr<Question> question) {
  auto token = boost::asio::redirect_error(boost::asio::use_awaitable, question->error);
  auto results = co_await question->resolver.async_resolve(question->host, "", token);
  for (const auto& entry : results) question->found.push_back(entry.endpoint().address());
  question->at = async::SteadyClock::now();
  question->answered.set();
}

async::Task<Addresses> Lookup::find(std::string host, std::uint16_t port, async::Deadline deadline) {
  Addresses result;
  boost::system::error_code not_literal;
  if (auto address = boost::asio::ip::make_address(host, not_literal); !not_literal) {
    result.endpoints.emplace_back(address, port);
    co_return result;
  }
  std::erase_if(questions_, [](const auto& entry) { return entry.second->stale(); });
  auto& kept = questions_[host];
  if (!kept) {
    kept = std::make_shared<Question>(loop_, host);
    boost::asio::co_spawn(loop_, ask(kept), boost::asio::detached);
  }
  auto question = kept;
  auto waited =
      co_await async::within(deadline, nullptr, [](std::shared_ptr<Question> on) -> async::Task<bool> {
        co_await on->answered.wait();
        co_return true;
      }(question));
  result.error = waited.value ? question->error : make_error_code(boost::asio::error::timed_out);
  for (const auto& address : question->found) result.endpoints.emplace_back(address, port);
  co_return result;
}

}  // namespace kw::http
