#include "mcp/stdio.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <deque>
#include <optional>

#include "base/core/files.h"
#include "base/core/text.h"

namespace kw::mcp {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;

constexpr std::size_t read_bytes = std::size_t{64} << 10;
constexpr auto farewell = 5s;  // for answers under way at the end of the input

// A descriptor on the loop, or one that cannot be waited for, such as a file: reads and writes do not block
// there for long.
class Pipe {
 public:
  Pipe(async::Loop& loop, int fd) : given_(fd), flags_(::fcntl(fd, F_GETFL)), stream_(loop) {
    Fd own(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    error_code refused;
    if (own) stream_.assign(own.get(), refused);
    is_on_loop_ = own && !refused;
    if (is_on_loop_) own.release();
  }
  Pipe(const Pipe&) = delete;
  // Others may share the open file, such as the shell of a terminal: waits must block for them as before.
  ~Pipe() {
    if (is_on_loop_) ::fcntl(given_, F_SETFL, flags_);
  }

  // 0 at the end, and after an error.
  async::Task<std::size_t> read(std::span<char> into) {
    error_code error;
    if (is_on_loop_)
      co_return co_await stream_.async_read_some(asio::buffer(into.data(), into.size()),
                                                 asio::redirect_error(asio::use_awaitable, error));
    co_await asio::post(asio::use_awaitable);  // coroutines of earlier messages go first
    ssize_t count = ::read(given_, into.data(), into.size());
    co_return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

  // False if the reader is gone. The bytes must outlive the wait.
  async::Task<bool> write(std::string_view bytes) {
    if (!is_on_loop_) co_return write_all(given_, bytes);
    error_code error;
    co_await asio::async_write(stream_, asio::buffer(bytes.data(), bytes.size()),
                               asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  void cancel() {
    error_code ignored;
    if (is_on_loop_) stream_.cancel(ignored);
  }

 private:
  int given_;
  int flags_;
  asio::posix::stream_descriptor stream_;
  bool is_on_loop_ = false;
};

// Shared with the coroutines of reading, writing and answering.
struct Serving : std::enable_shared_from_this<Serving> {
  Serving(async::Loop& on, async::Stop& until, std::shared_ptr<Session> with, StdioOptions given)
      : loop(on),
        stop(until),
        session(std::move(with)),
        options(given),
        input(on, given.input),
        output(on, given.output),
        cutter(given.longest_line),
        changed(on),
        drained(on),
        answered(on),
        over(on) {
    drained.set();
    answered.set();
  }

  void send(std::string text) {
    waiting_bytes += text.size();
    waiting.push_back(std::move(text) + "\n");
    drained.reset();
    changed.set();
  }

  // The coroutine of one message; it begins after those of earlier ones.
  void begin(LineCutter::Line line) {
    if (line.is_too_long)
      return send(
          error_text(nullptr, {ErrorCode::invalid_request,
                               fmt::format("a message has more than {} bytes", options.longest_line)}));
    if (trim(line.text).empty()) return;
    ++answering;
    answered.reset();
    async::spawn(loop, answer(shared_from_this(), std::move(line.text)),
                 [self = shared_from_this()](const std::exception_ptr&) {
                   if (--self->answering == 0) self->answered.set();
                 });
  }

  static async::Task<> answer(std::shared_ptr<Serving> self, std::string text);
  static async::Task<> read(std::shared_ptr<Serving> self);
  static async::Task<> write(std::shared_ptr<Serving> self);
  static async::Task<> until_answered(std::shared_ptr<Serving> self);

  async::Loop& loop;
  async::Stop& stop;
  std::shared_ptr<Session> session;
  StdioOptions options;
  Pipe input;
  Pipe output;
  LineCutter cutter;
  std::deque<std::string> waiting;
  std::size_t waiting_bytes = 0;
  std::size_t answering = 0;
  bool is_closing = false;
  async::Event changed;   // answers wait, or none follows
  async::Event drained;   // no answer waits
  async::Event answered;  // no answer is under way
  async::Event over;      // the input has ended, or the client reads no more
};

async::Task<> Serving::answer(std::shared_ptr<Serving> self, std::string text) {
  auto answered = co_await Session::answer(self->session, read_incoming(text),
                                           [self](std::string notice) { self->send(std::move(notice)); });
  if (answered) self->send(std::move(*answered));
}

async::Task<> Serving::read(std::shared_ptr<Serving> self) {
  std::array<char, read_bytes> bytes;
  while (!self->over.is_set()) {
    if (self->waiting_bytes > self->options.most_waiting_bytes) co_await self->drained.wait();
    const std::size_t count = co_await self->input.read(bytes);
    if (count == 0) break;
    for (LineCutter::Line& line : self->cutter.take({bytes.data(), count})) self->begin(std::move(line));
  }
  self->over.set();
}

async::Task<> Serving::write(std::shared_ptr<Serving> self) {
  while (true) {
    while (self->waiting.empty()) {
      self->drained.set();
      if (self->is_closing) co_return;
      self->changed.reset();
      co_await self->changed.wait();
    }
    const std::string text = std::move(self->waiting.front());
    self->waiting.pop_front();
    const bool is_read = co_await self->output.write(text);
    self->waiting_bytes -= std::min(self->waiting_bytes, text.size() - 1);
    if (!is_read) break;
  }
  self->waiting.clear();
  self->waiting_bytes = 0;
  self->drained.set();
  self->over.set();
}

async::Task<> Serving::until_answered(std::shared_ptr<Serving> self) {
  co_await self->answered.wait();
  co_await self->drained.wait();
}

}  // namespace

std::vector<LineCutter::Line> LineCutter::take(std::string_view bytes) {
  std::vector<Line> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (!skips_) open_ += part;
    if (open_.size() > longest_) {
      skips_ = true;
      open_ = std::string();
    }
    if (end == bytes.npos) return lines;
    bytes.remove_prefix(end + 1);
    if (open_.ends_with('\r')) open_.pop_back();
    lines.push_back({std::exchange(open_, {}), std::exchange(skips_, false)});
  }
  return lines;
}

async::Task<> serve_stdio(async::Loop& loop, async::Stop& stop, std::shared_ptr<Session> session,
                          StdioOptions options) {
  auto serving = std::make_shared<Serving>(loop, stop, std::move(session), options);
  async::spawn(loop, Serving::read(serving));
  async::spawn(loop, Serving::write(serving));
  co_await async::within(async::Deadline::never(), &stop, serving->over.wait());
  serving->over.set();
  serving->session->end("the client has left");
  co_await async::within(async::Deadline::in(farewell), nullptr, Serving::until_answered(serving));
  serving->is_closing = true;
  serving->changed.set();
  serving->input.cancel();
  serving->output.cancel();
}

}  // namespace kw::mcp
