// Static measures of an answer: its syntax tree, its overlap with a reference, and the compilation of its
// kernels.
#pragma once

#include <cstdint>
#include <span>

#include "base/core/result.h"
#include "dataset/labels/labels.h"
#include "score/report/output.h"

namespace kw::scoring {

// Sets idioms and overlap of each scored output. An answer that fills a hole is checked together with the
// source around the hole.
void measure(std::span<Output> outputs);

// The turn that represents each conversation: the best one (right before wrong before unknown, then the
// faster, then the later).
void choose_turns(std::span<Output> outputs);

// The number of turns in the longest conversation; 1 if each answer is alone.
std::size_t most_turns(std::span<const Output> outputs);

// Draws `count` of the scored outputs at random by the seed. Each gets a label: "fails" if one of its
// kernels fails, else "signature_unknown" if argument types of one are unknown, else "compilable";
// "no_kernel" if no kernel is found. An answer that breaks the source around its hole, or needs a name that
// nothing defines, "fails".
Result<> spot_compile(std::span<Output> outputs, std::size_t count, std::uint64_t seed,
                      const labels::CompileOptions& options);

}  // namespace kw::scoring
