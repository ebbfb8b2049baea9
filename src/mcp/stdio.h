// The transport over standard input and output: one message a line, one client, until the input ends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "mcp/session.h"

namespace kw::mcp {

// Cuts bytes into lines; forgets the rest of a line that is too long.
class LineCutter {
 public:
  explicit LineCutter(std::size_t longest) : longest_(longest) {}

  struct Line {
    std::string text;
    bool is_too_long = false;  // the text is empty
  };
  // The lines that end in these bytes, without line feed and carriage return.
  std::vector<Line> take(std::string_view bytes);

 private:
  std::size_t longest_;
  std::string open_;
  bool skips_ = false;
};

struct StdioOptions {
  int input = 0;
  int output = 1;
  std::size_t longest_line = most_message_bytes;
  // Answers that the client has not read; above it, no further message is read.
  std::size_t most_waiting_bytes = std::size_t{16} << 20;
};

// Returns at the end of the input, when the client has closed its end, or after a stop. Calls that are judged
// are stopped then; other answers are still written.
async::Task<> serve_stdio(async::Loop& loop, async::Stop& stop, std::shared_ptr<Session> session,
                          StdioOptions options);

}  // namespace kw::mcp
