// The hashes under which a row could stand in a training manifest.
#pragma once

#include <boost/json/object.hpp>
#include <set>
#include <string>
#include <vector>

namespace kw::scoring {

// Of each prompt with each completion, as two texts, as messages, and as one text; of the row's own messages
// and texts. Each as it stands, with CRLF turned into LF, and without white space at its ends: a manifest has
// one hash a row, of the form that was trained on. What the row has not, or has empty, is in none.
std::set<std::string> row_forms(const boost::json::object& row, const std::vector<std::string>& prompts,
                                const std::vector<std::string>& completions);

}  // namespace kw::scoring
