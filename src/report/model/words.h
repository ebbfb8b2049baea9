// The words of verdicts and traces with their meanings, and a verdict in sentences, as JSON of a report.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "types/verdict.h"
#include "verify/explain/explanation.h"

namespace kw::report {

// Kind of word → word → {"meaning", "remedy", "page"}. The pages are those of docs/.
boost::json::object glossary_json();

// {"sentence", "error", "notes", "help", "place"}; a part that does not apply is null.
boost::json::object explained(const Verdict& verdict, const explain::Sources& sources);

}  // namespace kw::report
