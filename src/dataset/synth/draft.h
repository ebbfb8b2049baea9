// A synthetic pair before its verdict: a PyTorch function drawn from a grammar, and a Triton file rewritten
// from the compiler's code for it; a file of a package whose function has the name of an operation, and that
// operation; a CUDA file and a Triton file written from one description, with their PyTorch reference; or
// a CUDA kernel and a Triton kernel of public sources, with a reference of this program.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/words.h"
#include "dataset/units/unit.h"

namespace kw::synth {

// What the Triton side of a pair rewrites.
BOOST_DEFINE_ENUM_CLASS(Source, pytorch, cuda, named, mined)

// Whether the kernels are those of given packages and checkouts.
inline bool takes_kernels(Source source) {
  return source == Source::named || source == Source::mined;
}

// The families of computations that a source draws from, in alphabetical order.
const std::vector<std::string>& families_of(Source source);

struct Draft {
  std::uint64_t number = 0;  // of the source, under the seed
  std::string family;        // "row_reduction"; empty where the child ended before it said so
  std::string name;          // of the function
  std::string reference;
  std::string kernel;  // empty: there is none
  std::string cuda;    // the .cu file; empty: the pair has no CUDA side
  std::string
      cuda_candidate;        // the Python module that compiles and launches the kernel of `cuda`; empty: none
  std::string licence;       // of the kernel; empty: the compiler's
  std::string cuda_licence;  // of `cuda`, of a mined pair
  std::string origin;        // of a named kernel: "flag-gems 5.0.2: flag_gems/ops/abs.py"
  std::optional<corpus::Place> triton_source;  // the file of a named or mined kernel
  std::optional<corpus::Place> cuda_source;    // the file of the CUDA side of a mined pair
  std::string compared;  // the text that tells the pair from others; empty: made of the texts above
  std::string stage;     // where it ended without a kernel: "compile", "rewrite", "source"
  std::string reason;
};

boost::json::object to_json(const Draft& draft);
// Adds triton_source and cuda_source, in the form of a row's source.
void add_sources(boost::json::object& object, const Draft& draft);
// Empty for an object of another form.
std::optional<Draft> draft_from(const boost::json::object& object);

// The draft in the answer of a child that ended as `how` says.
Draft draft_of_answer(std::uint64_t number, const std::string& how, std::string_view answer);

// "synth-0-17", "synth-cuda-0-17", "synth-named-0-17": seed and number. Of a mined pair "mined-gelu".
std::string id_of(std::uint64_t seed, const Draft& draft);

// The text that is compared with other pairs: the function and the kernels without their names and inputs.
std::string comparable_text(const Draft& draft);

}  // namespace kw::synth
