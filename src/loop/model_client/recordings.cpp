#include "loop/model_client/recordings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

std::string normalised(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r')
      out += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n')
      out += '\n';
  return std::string(trim(out));
}

}  // namespace

const Conversation* Recorded::conversation(std::size_t sample, std::size_t round) const {
  static const Conversation nothing;
  if (samples.empty()) return &nothing;
  std::size_t at = sample % samples.size();
  const auto& rounds = samples[at].rounds;
  if (round < rounds.size()) return &rounds[round];
  bool another = round > 0 && at + round < samples.size() && !samples[at + round].rounds.empty();
  if (another) return &samples[at + round].rounds.front();
  return rounds.empty() ? &nothing : &rounds.back();
}

Result<Recordings> Recordings::load(const std::vector<std::string>& files) {
  Recordings recordings;
  for (const std::string& file : files)
    if (auto added = recordings.add_file(file); !added) return std::unexpected(added.error());
  if (recordings.all_.empty())
    return fail(fmt::format("{}: no recorded answers", fmt::join(files, ", ")),
                "name a file of recorded traces with --model-replay");
  std::ranges::sort(recordings.all_, std::ranges::greater{},
                    [](const Recorded& one) { return one.reference.size(); });
  recordings.index_.clear();
  return recordings;
}

Result<> Recordings::add_file(const std::string& file) {
  auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  std::string_view rest = trim(*text);
  std::size_t number = 0;
  auto failed = [&](const Error& error) {
    return fail(fmt::format("{}: row {}: {}", file, number, error.what), error.remedy);
  };
  if (rest.starts_with('[')) {
    auto rows = parse_json(rest);
    if (!rows) return fail(fmt::format("{}: {}", file, rows.error().what));
    for (const json::value& row : rows->get_array()) {
      ++number;
      if (auto added = add_row(row); !added) return failed(added.error());
    }
    return {};
  }
  // The file is one object, or one object per line.
  if (auto whole = parse_json(rest)) {
    number = 1;
    if (auto added = add_row(*whole); !added) return failed(added.error());
    return {};
  }
  while (!rest.empty()) {
    std::size_t end = rest.find('\n');
    std::string_view line = trim(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    ++number;
    if (line.empty()) continue;
    auto row = parse_json(line);
    if (!row) return failed(row.error());
    if (auto added = add_row(*row); !added) return failed(added.error());
  }
  return {};
}

Result<> Recordings::add_row(const json::value& row) {
  if (!row.is_object()) return fail("not a JSON object");
  auto trace = trace_from_json(row.get_object());
  if (!trace) return std::unexpected(trace.error());
  std::string reference = normalised(trace->task.reference_code);
  if (reference.empty()) return fail("`pytorch_code` is empty");
  auto [place, is_new] = index_.try_emplace(reference, all_.size());
  if (is_new) all_.push_back({.name = sample_key(trace->task), .reference = reference, .samples = {}});
  all_[place->second].samples.push_back(std::move(*trace));
  return {};
}

const Recorded* Recordings::find(std::string_view text) const {
  std::string plain = normalised(text);
  for (const Recorded& one : all_)
    if (plain.find(one.reference) != std::string::npos) return &one;
  return nullptr;
}

}  // namespace kw::llm
