// Whose kernels a candidate launches.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "async/event.h"

namespace kw::verify {

// The answer of the compile broker, once it is there.
struct Attesting {
  explicit Attesting(async::Loop& loop) : done(loop) {}

  async::Event done;
  std::set<std::string> sha256;
};

struct Origins {
  std::set<std::string> attested =
      {};  // SHA-256 of cubins that our own compilation of the candidate's Triton code gave
  std::set<std::string> jitted = {};   // names of the @triton.jit functions in its source
  std::set<std::string> library = {};  // SHA-256 of cubins that references launched
  bool native_code = false;            // it brings CUDA C++ of its own
};

// "candidate": Triton's, attested, and a @triton.jit of the source. "library": launched by a reference too,
// or by its name one of PyTorch's or of the libraries it calls, or of no origin but PyTorch. "unattested": a
// kernel of the candidate's own that nobody attests, such as CUDA C++.
std::string_view whose(const std::string& kernel, const std::string& cubin_sha256, const Origins& origins);

}  // namespace kw::verify
