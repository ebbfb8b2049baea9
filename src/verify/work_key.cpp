#include "verify/work_key.h"

#include <boost/json/serialize.hpp>

#include "base/hash.h"
#include "schema/json.h"
#include "verify/verifier.h"

namespace kw::verify {
namespace {

// Without insignificant white space. The order stays: it is that of the arguments where the names are not the
// function's own.
std::string shapes_of(const Task& task) {
  auto shapes = parse_json(task.input_shapes);
  return shapes ? boost::json::serialize(*shapes) : task.input_shapes;
}

}  // namespace

std::string work_key(const Job& job, std::string_view protocol) {
  return sha256_hex_of({job.task.reference_code, job.task.entry_point, shapes_of(job.task),
                        job.candidate.code, job.candidate.entry, protocol});
}

std::string work_key(const Job& job, const Verifier& verifier) {
  return work_key(job, verifier.protocol_with(job.options));
}

}  // namespace kw::verify
