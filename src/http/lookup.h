// Host names to addresses. Asio asks the system on a thread of its own and cannot be interrupted there, so
// whoever waits may leave, and equal questions share an answer.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"

namespace kw::http {

struct Addresses {
  boost::system::error_code error;  // timed_out where the deadline passed
  std::vector<boost::asio::ip::tcp::endpoint> endpoints;
};

class Lookup {
 public:
  explicit Lookup(async::Loop& loop) : loop_(loop) {}

  async::Task<Addresses> find(std::string host, std::uint16_t port, async::Deadline deadline);

 private:
  struct Question;
  static void ask(const std::shared_ptr<Question>& question);

  async::Loop& loop_;
  std::map<std::string, std::shared_ptr<Question>> questions_;
};

}  // namespace kw::http
