// Tries a right candidate on families of inputs unlike those that its task draws, which the oracle names and
// draws: a kernel may be right on one distribution and on nothing else. docs/varied_inputs.md states the
// rule.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "types/generality.h"
#include "verify/judge/blame.h"

namespace kw::verify {

// One draw of a family, and what the candidate gave on it.
struct FamilyAnswer {
  wire::DrawnT drawn = {};
  std::optional<wire::JudgedT> judged = {};  // none: the draw was dropped, or there is a reason below
  std::optional<Blame> failure = {};         // of the candidate's call
  std::string why_untried = {};              // why the answer proves nothing
  bool was_patient = false;                  // the call had more time than any difference of values explains
  bool took_another_way = false;  // the host read other values back than those of the replayed recording
};

struct FamilyQuestion {
  std::string family = {};
  // Whether the inputs must be new. Where they need not be, and the candidate's process sees none of them,
  // they may be those of an earlier candidate: the reference's answer and its limits are known then.
  bool fresh = false;
  // Whether the call has so much time that one without an end is a failure.
  bool patient = false;
};

// Draws the family and asks the candidate. An error ends the attempt, so a failure of the candidate is none.
using AskFamily = std::function<async::Task<Outcome<FamilyAnswer>>(FamilyQuestion question)>;

struct FamiliesToTry {
  std::vector<std::string> families;
  std::size_t most = 0;    // of them, in their order, and one of the others that `seed` decides
  bool alone = false;      // no other job uses the device, so a failure is the candidate's
  std::uint64_t seed = 0;  // a secret one
};

// A family fails with two draws on which the candidate is wrong, raises, or does not answer although it has
// the time; the second family with one such draw fails as well. Two failures end the attempt, as on the
// task's own inputs: an unsupported feature, and one that neighbours may have caused, whose doubt has the job
// judged again alone.
async::Task<Outcome<Generality>> try_families(FamiliesToTry these, AskFamily ask);

// A text that the oracle sent, as plain text of limited length.
std::string words_from(const std::string& text);
// The trial of a family, or of other shapes, by one answer.
FamilyTrial trial_of(const std::string& family, const FamilyAnswer& answer);
// A failure stands if the candidate fails once more: one wrong draw of two proves nothing.
void confirm(FamilyTrial& failed, const FamilyTrial& second);

// The longest wait for a call or replay on a family on a device, where one on the task's own inputs took
// `usual_ms`. No difference of values explains more, and a candidate without end holds the device that long.
struct DevicePatience {
  double usual_ms = 0;
  std::chrono::milliseconds least{};  // a live call may compile a kernel again, a replay does not
  std::chrono::milliseconds timeout{};
};
inline constexpr std::chrono::milliseconds least_replay_patience{10'000}, least_call_patience{30'000};
std::chrono::milliseconds longest_wait(const DevicePatience& patience);

// So many families of a task whose calls move these bytes on a device.
std::size_t most_families_on_device(std::uint64_t moved_bytes);
// The same for a call that interprets so many programs; the shortest trial took `shortest_ms`.
std::size_t most_families_interpreted(std::uint64_t programs, double shortest_ms);

}  // namespace kw::verify
