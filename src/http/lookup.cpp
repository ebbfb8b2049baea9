#include "http/lookup.h"

#include <boost/system/system_error.hpp>

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

void Lookup::ask(const std::shared_ptr<Question>& question) {
  auto answered = [question](boost::system::error_code error, const tcp::resolver::results_type& results) {
    question->error = error;
    for (const auto& entry : results) question->found.push_back(entry.endpoint().address());
    question->at = async::SteadyClock::now();
    question->answered.set();
  };
  // It throws where no thread can be made; out of a coroutine that would leave the loop's run().
  try {
    question->resolver.async_resolve(question->host, "", answered);
  } catch (const boost::system::system_error& error) {
    answered(error.code(), {});
  }
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
    ask(kept);
  }
  auto question = kept;
  bool late = (co_await async::within(deadline, nullptr, question->answered.wait())).has_value();
  result.error = late ? make_error_code(boost::asio::error::timed_out) : question->error;
  for (const auto& address : question->found) result.endpoints.emplace_back(address, port);
  co_return result;
}

}  // namespace kw::http
