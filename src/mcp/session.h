// Session: one client from its `initialize` on. Answers its messages, several calls at a time, and stops the
// calls that it cancels.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "mcp/message.h"
#include "mcp/resources.h"
#include "mcp/tool.h"

namespace kw::mcp {

// Of the protocol, the newest first.
inline constexpr std::string_view protocol_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                         "2024-11-05"};
bool is_protocol_version(std::string_view version);

// Calls of one client in progress.
inline constexpr std::size_t most_calls = 16;

// What the server offers to every client.
struct Offer {
  std::string program_version;
  std::string instructions;
  std::vector<std::unique_ptr<Tool>> tools;
  std::function<void(std::string_view line)> log = [](std::string_view) {};
};

// Takes a message to the client, one line without its line feed.
using Tell = std::function<void(std::string text)>;

class Session {
 public:
  // `whole` ends all calls; it, the loop and the offer must outlive the session and its answers.
  Session(async::Loop& loop, async::Stop& whole, const Offer& offer);

  // The answer to what the client sent; nothing if none is due, also after a cancellation. `tell` gets the
  // notifications that belong to it, until then.
  static async::Task<std::optional<std::string>> answer(std::shared_ptr<Session> session, Incoming incoming,
                                                        Tell tell);

  // Requests a stop of all calls.
  void end(const std::string& cause);
  std::size_t calls() const { return calls_.size(); }
  // Ends when no call is in progress.
  async::Task<> until_idle();
  // Empty before `initialize`.
  const std::string& protocol() const { return protocol_; }

 private:
  struct InProgress {
    std::shared_ptr<async::Stop> stop;
    bool is_cancelled = false;
  };
  using Answered = std::expected<boost::json::object, RpcError>;

  static async::Task<std::optional<std::string>> answer_one(std::shared_ptr<Session> session,
                                                            MessageOrError message, Tell tell);
  static async::Task<std::optional<Answered>> call_tool(std::shared_ptr<Session> session, Message message,
                                                        Tell tell);
  std::optional<RpcError> refuse_batch(const Incoming& incoming) const;
  Answered answer_at_once(const Message& message);
  Answered initialize(const boost::json::object& params);
  Answered read(const boost::json::object& params) const;
  void take_notification(const Message& message);
  void finish(const std::string& key);

  async::Loop& loop_;
  async::Stop& whole_;
  const Offer& offer_;
  std::string protocol_;
  std::shared_ptr<VerdictShelf> verdicts_ = std::make_shared<VerdictShelf>();
  std::map<std::string, InProgress> calls_;  // by their ids as JSON
  async::Event idle_;
};

}  // namespace kw::mcp
