// JSON of evaluations: reads submissions and their options, where every error names its field, and writes
// verdicts as the service stores and returns them.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "serve/evaluation.h"
#include "serve/task_catalogue.h"
#include "types/job.h"
#include "types/options.h"
#include "types/verdict.h"

namespace kw::service {

// A refusal names the option: "options.tolerance.rtol". Unknown options are refused.
Answered<JobOptions> read_options(const boost::json::value& value);

// Reads one evaluation in the form of POST /v1/evaluations; creates a missing "id". `text` is the JSON of
// `fields`; empty: it is serialized again. A request with a task_id and no reference_code names a task, which
// `find_task` finds; null: requests must contain the reference.
Answered<Submission> read_submission(boost::json::object fields, std::string text = {},
                                     const FindTask& find_task = {});

// Task::source of a job whose request names its task by id; "service" if the request contains the task.
inline constexpr std::string_view catalogue_source = "catalogue";

// Whether the client named the task by id, so that its verdict must not quote the reference.
inline bool names_task(const Job& job) {
  return job.task.source == catalogue_source;
}

// The body's object; a refusal states the fault and its byte offset.
Answered<boost::json::object> read_object(std::string_view body);

// The number of characters in UTF-8: counts their first bytes.
std::size_t characters(std::string_view text);

// The prefix and 24 random hexadecimal digits.
std::string new_id(std::string_view prefix);

// The field's value; null if it is absent or null.
const boost::json::value* given(const boost::json::object& fields, std::string_view key);

// As JSON, with the job's additional fields and its names.
std::string verdict_text(Verdict verdict, const Job& job);

// The same from a verdict's stored text.
std::string shared_verdict_text(std::string_view known, const Job& job);

}  // namespace kw::service
