// The folder of a synthetic set: every draft, every judged pair, and what a later run needs to go on.
//
//   synth.json     the settings that decide the drafts
//   drafts.jsonl   one line a source, in the order of the numbers
//   pairs.jsonl    verified pairs with their verdicts; a batch of `verify`, and what `dataset build --pairs`
//   reads repair.jsonl   pairs whose kernel did not pass, with the reason
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"
#include "dataset/synth/distinct.h"
#include "dataset/synth/draft.h"

namespace kw::synth {

struct SynthSettings {
  Source source = Source::pytorch;
  std::uint64_t seed = 0;
  std::vector<std::string> families;  // empty: all
  near::Parameters near;
  std::vector<std::string> sources;  // identities of the sources of named and mined kernels
};

// Of one family, or of all.
struct Yield {
  std::uint64_t sources = 0;
  std::uint64_t compiled = 0;
  std::uint64_t rewritten = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t verified = 0;
  std::uint64_t repair = 0;
  std::uint64_t cuda_verified = 0;  // of the verified ones: a GPU ran the CUDA side too
};

enum class Outcome { verified, repair };

class SynthFolder {
 public:
  // Makes the folder or opens it: reads its drafts and verdicts, cuts off an incomplete last line, and takes
  // its lock. An error for a folder of other settings, one that another run uses, and one that has other
  // files.
  static Result<SynthFolder> open(const std::filesystem::path& path, const SynthSettings& settings);

  // The number after the last draft.
  std::uint64_t next_number() const { return next_; }

  // Appends drafts, whose numbers follow the last one.
  Result<> add(const std::vector<Draft>& drafts);

  // Distinct drafts with a kernel and without a verdict; the caller judges them. Each is given once.
  std::vector<Draft> take_open() { return std::exchange(open_, {}); }

  // Appends a judged pair.
  Result<> add(const Draft& draft, Outcome outcome, const boost::json::object& line);

  const std::map<std::string, Yield>& yields() const { return yields_; }
  // Why sources have no kernel: "rewrite: a scan that is neither a sum nor a product".
  const std::map<std::string, std::uint64_t>& reasons() const { return reasons_; }

 private:
  explicit SynthFolder(const SynthSettings& settings) : distinct_(settings.near) {}

  Result<> read_judged(const std::filesystem::path& path, Outcome outcome);
  Result<> read_drafts(const std::filesystem::path& path);
  void take(Draft draft);

  Fd lock_;
  Fd drafts_;
  Fd pairs_;
  Fd repair_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Outcome> judged_;
  std::set<std::uint64_t> cuda_verified_;
  std::vector<Draft> open_;
  Distinct distinct_;
  std::map<std::string, Yield> yields_;
  std::map<std::string, std::uint64_t> reasons_;
};

}  // namespace kw::synth
