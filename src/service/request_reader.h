// Submissions out of JSON. Every error names its field.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "service/evaluation.h"

namespace kw::service {

// One evaluation in the form of POST /v1/evaluations; without an "id" it gets one. `text` is the JSON that
// `fields` was read from; empty: it is written anew.
Answered<Submission> read_submission(boost::json::object fields, std::string text = {});

// The body's object; a refusal says what is wrong with it, and at which byte.
Answered<boost::json::object> read_object(std::string_view body);

}  // namespace kw::service
