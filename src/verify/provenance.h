// Whose kernels a candidate launches.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/event.h"
#include "verify/ended.h"

namespace kw::verify {

// The answer of the compile broker, once it is there.
struct Attesting {
  explicit Attesting(async::Loop& loop) : done(loop) {}

  async::Event done;
  std::set<std::string> sha256;
};

// Asks what the compile broker makes of the candidate's kernels, while they are replayed: it takes as long.
// The verdict may end without the answer.
std::shared_ptr<Attesting> start_attesting(Context& context, std::shared_ptr<const Tape> tape,
                                           std::uint32_t capability);

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

// The launches of a recording: whose they are, how long each takes, and whether the result needs those that
// are not a library's.
struct Provenance {
  std::vector<Launch> launches;
  std::optional<double> triton_share;  // of device time, in the candidate's attested kernels
  std::size_t own_launches = 0;        // not a library's
  bool decoy = false;                  // the result is right without these
  std::optional<Ended> ended;
};
// Of the player's first recording. The last replay comes last: without some launches others may well fault.
async::Task<Provenance> find_provenance(Player& player, const Origins& origins, bool timed);

}  // namespace kw::verify
