// Dialects: trainers' own protocols for a reward. A dialect reads a trainer's request as evaluations and
// writes what became of them as the trainer's answer; judging is the same for all. A new dialect is one file
// with a Dialect, and its line in the table of dialects.cpp.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/wait.h"
#include "base/async/workbench.h"
#include "base/http/message.h"
#include "serve/evaluation.h"
#include "serve/routes.h"
#include "serve/task_catalogue.h"
#include "types/verdict.h"

namespace kw::service {

class Conversations;

// What became of one evaluation.
struct Judged {
  std::string evaluation;          // its id
  std::optional<Verdict> verdict;  // the last one; empty: there is none
  std::optional<double> reward;    // empty: not judged
  std::string why{};               // not judged: the reason
  bool is_final = true;            // not judged: the same request again changes nothing
};

// What the endpoints of a dialect use beside the Call, and what must outlive them; a null catalogue has no
// tasks.
struct DialectParts {
  async::Workbench& workbench;
  TaskCataloguePtr tasks;
  Conversations& conversations;
  async::Event& draining;  // the service is ending: sessions of WebSockets end
};

struct Dialect {
  std::string_view name;            // the first word of its evaluations' ids
  std::string_view path;            // of its POST endpoint
  std::string_view other_path{};    // of the same endpoint, for a client whose URL takes no prefix
  std::chrono::seconds patience;    // for a verdict: less than the trainer's own limit
  std::string_view patience_key{};  // a field of the request with the trainer's limit in seconds
  // The evaluations to submit: fields of POST /v1/evaluations, except id and reward.
  Answered<std::vector<boost::json::object>> (*read)(const boost::json::object& theirs);
  // The answer, where `judged` has an item for each evaluation.
  http::Response (*answer)(const boost::json::object& theirs, const std::vector<Judged>& judged);
  // Its other endpoints; null: none.
  void (*add_others)(Routes& routes, const DialectParts& parts) = nullptr;
};

// The fields of an evaluation that a trainer's label or row may have beside the completion.
// "kernelbench/1/19", or an object, or its JSON: {"task_id", "task_version", "reference_code",
// "input_shapes", "entry_point", "kernel_entry", "kernel_name", "options"}. `field` is the label's name.
Answered<boost::json::object> task_of_label(const boost::json::value* label, std::string_view field);

// Those fields of an object, without its other fields.
boost::json::object task_fields(const boost::json::object& row);

ApiError unprocessable(std::string_view field, std::string_view why);

// 503 with Retry-After, or 422 where a retry changes nothing.
http::Response not_judged_response(const Judged& judged);

// 1 for a correct kernel that counts, else 0.
double correct_number(const Judged& judged);

// The endpoints of all dialects. The parts must outlive them.
void add_dialects(Routes& routes, const DialectParts& parts);

// Of the table.
extern const Dialect slime;
extern const Dialect slime_number;
extern const Dialect miles;
extern const Dialect miles_number;
extern const Dialect openrlhf;
extern const Dialect nemo_gym;
extern const Dialect openenv;

}  // namespace kw::service
