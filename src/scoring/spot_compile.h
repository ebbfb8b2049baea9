// Whether the kernels of some answers compile: the labels that a dataset's rows get.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "labels/labels.h"
#include "scoring/output.h"

namespace kw::scoring {

// `count` of the scored outputs, drawn at random by the seed. Each gets a label: "fails" where one of its
// kernels fails, else "signature_unknown" where the types of one cannot be told, else "compilable";
// "no_kernel" where it has none that can be found.
Result<> spot_compile(std::span<Output> outputs, std::size_t count, std::uint64_t seed,
                      const labels::CompileOptions& options);

}  // namespace kw::scoring
