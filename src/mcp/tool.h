// Tool: one function that an agent can call; its description, its call, and the answer.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/core/result.h"
#include "mcp/resources.h"

namespace kw::mcp {

// A text is cut to this, so that one answer cannot fill an agent's context.
inline constexpr std::size_t most_answer_bytes = std::size_t{48} << 10;

// One call in progress.
struct Call {
  async::Loop& loop;
  std::shared_ptr<async::Stop> stop;               // requested by the client or at the end of its session
  std::function<void(std::string_view what)> say;  // to a client that asked for progress
  std::shared_ptr<VerdictShelf> verdicts;          // of the client's session
};

struct ToolAnswer {
  std::string text;
  boost::json::object structured{};  // absent if it is an error
  bool is_error = false;
};

// An answer that a model can act on: what is wrong, and the remedy.
ToolAnswer tool_error(const Error& error);

class Tool {
 public:
  virtual ~Tool() = default;

  // As tools/list gives it.
  struct Description {
    std::string name;
    std::string title;
    std::string text;
    boost::json::object input_schema;
    boost::json::object output_schema;
    bool is_idempotent = true;
  };
  virtual const Description& description() const = 0;

  // Nothing if a stop was requested before the answer.
  virtual async::Task<std::optional<ToolAnswer>> call(boost::json::object arguments, Call call) = 0;
};

boost::json::object to_json(const Tool::Description& description);
boost::json::object to_json(ToolAnswer answer);

}  // namespace kw::mcp
