// Recorded completions, found again by the reference that a request asks about.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "schema/trace.h"

namespace kw::llm {

// All that was recorded for one reference: in the order of the files, one trace a sample.
struct Recorded {
  std::string name;       // the first one's sample_key
  std::string reference;  // line ends made "\n", trimmed
  std::vector<Trace> samples;

  // Sample and round, both from 0. A sample that was not recorded repeats one that was; a second round that
  // was not recorded is the next sample's, or the first again. Never null.
  const Conversation* conversation(std::size_t sample, std::size_t round) const;
};

class Recordings {
 public:
  // Recorded traces, single- or multi-turn, or our own exports: a JSON list, or one JSON object a line.
  static Result<Recordings> load(const std::vector<std::string>& files);

  // The longest reference that the text contains; null where there is none.
  const Recorded* find(std::string_view text) const;

  std::size_t references() const { return all_.size(); }

 private:
  Result<> add_file(const std::string& file);
  Result<> add_row(const boost::json::value& row);

  std::vector<Recorded> all_;                           // longest reference first, once loaded
  std::unordered_map<std::string, std::size_t> index_;  // while loading
};

}  // namespace kw::llm
