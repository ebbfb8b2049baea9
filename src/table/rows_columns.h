// Which columns hold the prompt and the completion, and what stands in them.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/rows.h"

namespace kw::table {

struct Columns {
  std::string prompt;  // empty: rows have a completion only
  std::string completion;
};

// The error names the columns found, and how to name others.
Result<Columns> choose_columns(const std::string& file, const std::vector<std::string>& found,
                               const ReadOptions& options);

// A string as it is; a list of messages, {"role": ..., "content": ...}, as their contents with a newline
// between. A message's content may be a list of parts, {"type": "text", "text": ...}.
Result<std::string> text_of(const boost::json::value& value);

}  // namespace kw::table
