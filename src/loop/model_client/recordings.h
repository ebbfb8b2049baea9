// Recorded completions, found by the reference in a request.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/core/result.h"
#include "types/trace.h"

namespace kw::llm {

// All recordings for one reference: in the order of the files, one trace per sample.
struct Recorded {
  std::string name;       // the first one's sample_key
  std::string reference;  // line ends made "\n", trimmed
  std::vector<Trace> samples;

  // Sample and round, both from 0. A missing sample repeats a recorded one; a missing second round is the
  // next sample's round, or the first round again. Never null.
  const Conversation* conversation(std::size_t sample, std::size_t round) const;
};

class Recordings {
 public:
  // Recorded traces, single- or multi-turn, or exports of this program: a JSON list, or one JSON object per
  // line.
  static Result<Recordings> load(const std::vector<std::string>& files);

  // The longest reference that the text contains; null if there is none.
  const Recorded* find(std::string_view text) const;

  std::size_t references() const { return all_.size(); }

 private:
  Result<> add_file(const std::string& file);
  Result<> add_row(const boost::json::value& row);

  std::vector<Recorded> all_;                           // longest reference first, once loaded
  std::unordered_map<std::string, std::size_t> index_;  // while loading
};

}  // namespace kw::llm
