// Provenance of a candidate's launches: the candidate's own kernels, or a library's.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/wait.h"
#include "verify/census/census.h"
#include "verify/judge/player.h"
#include "verify/judge/replays.h"
#include "verify/judge/wrapping.h"

namespace kw::verify {

// The answer of the compile broker, when `done` is set.
struct Attesting {
  explicit Attesting(async::Loop& loop) : done(loop) {}

  async::Event done;
  std::expected<engine::Attestation, engine::NoAttestation> answer =
      std::unexpected(engine::NoAttestation{"there is no compile broker", false});
};

// Asks the compile broker to compile the kernels of the player's recordings, beside the replays, since both
// take equally long. `tape` is the last recording: its file holds the kernels of the earlier ones too. The
// attempt may end without the answer.
std::shared_ptr<Attesting> start_attesting(Context& context, std::shared_ptr<const Tape> tape,
                                           const Player& player);

struct Origins {
  std::set<std::string> attested = {};  // SHA-256 of cubins that the compile broker made of its Triton code
  std::set<std::string> library = {};   // SHA-256 of cubins that its reference launched, or others brought
  std::shared_ptr<const census::Census> census = {};  // null: not needed, or there is none
  std::set<std::uint64_t> built = {};                 // keys of code that the broker built of its CUDA C++
  // It built CUDA or C++ of its own, and the broker could not try to build all of it.
  bool native_code = false;
  std::set<std::string> native_kernels = {};  // names of the __global__ functions in its source
};

// The machine code of a launch.
struct LaunchedCode {
  std::string cubin_sha256;  // of the whole image
  std::uint64_t key = 0;     // of the kernel's own code: see recording::code_key
  std::string kernel = {};   // its name
};
LaunchedCode code_of(const wire::LaunchT& launch);

// "library": launched by the reference too, of an installed package, of torch.compile, or in the census.
// "candidate": attested, and none of the first three. "native": the broker built it of the candidate's CUDA
// C++. None of these depends on a name. Of all others, those that are named like a library's kernels are
// "library", the rest "unattested".
std::string_view whose(const LaunchedCode& code, const Origins& origins);
// Whether a launch of the player's recordings is known only to a census, if at all.
bool needs_census(const Player& player, const Origins& origins);
// Whether a launch of this origin is work of the candidate's own.
bool is_own(std::string_view origin, const Origins& origins);

// A launch without its origin, its block and its time.
Launch launch_of(const wire::LaunchT& from);

// The launches of the player's recordings, without origin and time.
LaunchList recorded_launches(const Player& player);

// The launches of a call: their origin, their times, and whether the result needs the candidate's own.
struct Provenance {
  // Of the recording with the fewest required launches, with decoys, or that wraps the reference.
  std::vector<Launch> launches = {};
  std::optional<DeviceTimeShare> device_time_share = {};  // of these launches
  std::optional<double> triton_share = {};                // the least of all recordings
  std::size_t own_launches = 0;
  std::size_t triton_launches = 0;  // attested ones of its own
  bool decoy = false;               // the result is right without the required launches
  bool wraps_reference = false;
  DecoyCheck decoy_check{.name = "without_own_launches"};
  LaunchList launch_list = {};  // of all recordings
  std::vector<std::string> findings = {};
  std::optional<Ended> ended = {};
};

struct Examination {
  Player& player;
  const Origins& origins;
  const Settings& settings;
  // Its launches are timed where a candidate launches kernels of its, and it is dropped if that fails.
  ReferenceReplays::Found& reference;
};
// Every recording of the player is examined, and the least favourable one decides: the others may be a show.
// The replays without own launches come last, since they may fault.
async::Task<Provenance> find_provenance(const Examination& of);

}  // namespace kw::verify
