// Provenance of a candidate's launches: the candidate's own kernels, or a library's.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/wait.h"
#include "verify/judge/player.h"

namespace kw::verify {

// The answer of the compile broker, when `done` is set.
struct Attesting {
  explicit Attesting(async::Loop& loop) : done(loop) {}

  async::Event done;
  std::set<std::string> sha256;
};

// Asks the compile broker to compile the candidate's kernels, beside the replays, since both take equally
// long. The attempt may end without the answer.
std::shared_ptr<Attesting> start_attesting(Context& context, std::shared_ptr<const Tape> tape,
                                           std::uint32_t capability);

struct Origins {
  std::set<std::string> attested = {};  // SHA-256 of cubins that the compile broker made of its Triton code
  std::set<std::string> jitted = {};    // names of the @triton.jit functions in its source
  std::set<std::string> library = {};   // SHA-256 of cubins that references launched
  bool native_code = false;             // the candidate contains CUDA C++
};

// "candidate": Triton's, attested, and a @triton.jit of the source. "library": launched by a reference too,
// or with a name of PyTorch's or its libraries' kernels, or of no possible origin but PyTorch. "unattested":
// the candidate's own kernel without attestation, such as CUDA C++.
std::string_view whose(const std::string& kernel, const std::string& cubin_sha256, const Origins& origins);

// A launch without its origin, its block and its time.
Launch launch_of(const wire::LaunchT& from);

// The launches of the player's recordings, without origin and time.
LaunchList recorded_launches(const Player& player);

// The launches of a recording: their origin, their times, and whether the result needs those that are not a
// library's.
struct Provenance {
  std::vector<Launch> launches;
  std::optional<double> triton_share;  // the share of device time in the candidate's attested kernels
  std::size_t own_launches = 0;        // of kernels that are not a library's
  bool decoy = false;                  // the result is right without these launches
  DecoyCheck decoy_check{.name = "without_own_launches"};
  LaunchList launch_list;  // of all recordings
  std::optional<Ended> ended;
};
// Of the player's first recording. The replay without the own launches comes last, since it may fault.
async::Task<Provenance> find_provenance(Player& player, const Origins& origins, bool timed);

}  // namespace kw::verify
