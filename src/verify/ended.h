// Why a verdict stands before all of its way was gone. Parts say it by one of these values; what it makes of
// the verdict is decided in one place.
#pragma once

#include <expected>
#include <string>
#include <variant>

#include "engine/exchange.h"
#include "schema/verdict.h"
#include "verify/blame.h"
#include "verify/player.h"

namespace kw::verify {

struct Stopped {};  // no verdict at all
struct OurFault {
  Stage stage = Stage::prepare;
  Error error;
};
struct OracleRefusal {
  Stage stage = Stage::prepare;
  engine::Refusal refusal;
};
struct CandidateRefusal {
  RunnerLoss where;
  engine::Refusal refusal;
};
struct BrokenReplay {  // that was right before, while it was timed
  std::string why;
};
struct Overrun {  // a replay wrote behind the end of this allocation
  std::string of;
};
struct Unjoined {  // wrong where operations that nobody waits for come late
  std::size_t operations = 0;
  wire::JudgedT judged;
};
struct WrongResult {};  // the last judgement says how

using Ended = std::variant<Stopped, OurFault, OracleRefusal, CandidateRefusal, BrokenReplay, Overrun,
                           Unjoined, WrongResult>;

// A part's value, or why the verdict stands without it.
template <typename T = void>
using Outcome = std::expected<T, Ended>;

// A process that could not be started: ours, unless a stop was requested.
std::unexpected<Ended> could_not_start(Stage stage, const Error& error, const async::Stop& stop);

// Why a recording cannot be replayed, in words.
std::string replay_words(const engine::Refusal& refusal);

// A replay that was right before does not break by itself.
Ended broken_while_timed(const Trouble& trouble);

}  // namespace kw::verify
