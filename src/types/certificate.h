// What `certify` finds out about a task without any candidate: whether its trials can tell a right kernel
// from an empty or an incomplete one. docs/certify.md describes the fields and the marks.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"
#include "types/enums.h"

namespace kw {

inline constexpr const char* certificate_schema = "kernelwright.certificate/1";

// A property of a task that its author should know, from the gravest on.
BOOST_DEFINE_ENUM_CLASS(TaskMark, refused, proves_nothing, empty_output, weak, ignores_input, nonfinite,
                        random, unseeded, ill_conditioned, constant_input, fixed_shapes)

struct CertifiedInput {
  std::string input = {};
  std::string dtype = {};
  std::vector<std::int64_t> shape = {};
  bool varies = false;        // its values differ between seeds
  std::string values = {};    // "normal", "within its range", "probabilities", "kept"
  std::string why_kept = {};  // why its values have no distribution
  bool ignored = false;       // outputs stay within the tolerance when it is that of another draw
};

// Distances and the root mean square are those of one draw.
struct CertifiedOutput {
  std::string output = {};
  std::string dtype = {};
  std::vector<std::int64_t> shape = {};
  std::vector<std::string> empty_answers = {};  // that pass for this output alone
  std::optional<double> rms = {};
  std::optional<double> reference_loss = {};  // largest distance of the reference from float64
  std::optional<double> sensitivity = {};     // largest change of float64 under one ulp of the inputs
  std::optional<NoErrorRatio> why_unknown = {};
  bool ill_conditioned = false;
};

// The task at other sizes: whether its reference computes them with the same weights.
struct CertifiedShape {
  std::string version = {};  // "prime", "larger", "more_rows", "one", "empty"
  bool tried = false;        // false: a limit of time or memory ended the attempt
  std::optional<std::string> sizes = {};
  std::optional<std::string> why_not = {};
};

struct TaskCertificate {
  std::string id = {};
  std::string task_id = {};
  std::string work = {};  // key of the reference and of everything that can change the certificate
  std::vector<TaskMark> marks = {};
  // task: the reference fails; infrastructure: no certificate; none beside an error: too large to examine
  // here
  std::optional<Fault> fault = {};
  std::optional<std::string> error = {};
  std::vector<std::string> empty_answers = {};  // that pass for all outputs together
  std::vector<std::string> weak_answers = {};   // incomplete computations that pass
  bool random = false;
  bool unseeded = false;
  std::optional<std::string> reduced_sizes = {};  // set if it was examined at smaller sizes
  std::vector<CertifiedInput> inputs = {};
  std::vector<CertifiedOutput> outputs = {};
  std::vector<CertifiedShape> shapes = {};
  std::vector<std::string> changed_inputs = {};
  std::vector<std::string> changed_weights = {};
  std::vector<std::string> findings = {};
  double seconds = 0;
};

// The marks that the other fields show.
std::vector<TaskMark> marks_of(const TaskCertificate& certificate);

boost::json::object to_json(const TaskCertificate& certificate);
Result<TaskCertificate> certificate_from_json(const boost::json::object& object);

// The mark with what it is about: "proves_nothing (zeros)", "constant_input (mask)".
std::string in_words(TaskMark mark, const TaskCertificate& certificate);

}  // namespace kw
