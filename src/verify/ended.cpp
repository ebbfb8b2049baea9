#include "verify/ended.h"

#include "base/text.h"

namespace kw::verify {

std::string replay_words(const engine::Refusal& refusal) {
  if (refusal.failed) return to_plain_text(refusal.failed->error);
  if (refusal.lost->why == engine::Lost::Why::deadline) return "its replay does not end";
  return "the replayer was lost: " + refusal.lost->detail;
}

std::unexpected<Ended> could_not_start(Stage stage, const Error& error, const async::Stop& stop) {
  if (stop.requested()) return std::unexpected<Ended>(Stopped{});
  return std::unexpected<Ended>(OurFault{stage, error});
}

Ended broken_while_timed(const Trouble& trouble) {
  if (was_stopped(trouble.refusal)) return Stopped{};
  if (trouble.of == Trouble::Of::oracle) return OracleRefusal{Stage::replay, trouble.refusal};
  return BrokenReplay{replay_words(trouble.refusal)};
}

}  // namespace kw::verify
