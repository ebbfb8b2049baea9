#include "dataset/synth/synth_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <functional>

#include "base/core/json.h"
#include "base/core/text.h"
#include "dataset/synth/settings_change.h"

namespace kw::synth {
namespace fs = std::filesystem;
namespace json = boost::json;
namespace {

// Increase it with GRAMMAR in python/kernelwright/_dataset/synth/grammar.py, and in cuda_pairs/draft.py.
constexpr int grammar_version = 4;
constexpr int cuda_grammar_version = 1;
constexpr int named_version = 3;  // of operations.cpp
constexpr int mined_version = 2;  // of the texts around mined kernels

json::object identity_of(const SynthSettings& settings) {
  json::object identity{{"grammar", grammar_version},
                        {"seed", settings.seed},
                        {"families", json::array(settings.families.begin(), settings.families.end())},
                        {"near_threshold", settings.near.threshold},
                        {"shingle_tokens", settings.near.shingle_tokens}};
  if (settings.source == Source::pytorch) return identity;
  identity["source"] = to_string(settings.source);
  identity["grammar"] = settings.source == Source::cuda    ? cuda_grammar_version
                        : settings.source == Source::named ? named_version
                                                           : mined_version;
  if (settings.source != Source::cuda)
    identity["from"] = json::array(settings.sources.begin(), settings.sources.end());
  return identity;
}

Result<> check_identity(const fs::path& folder, const SynthSettings& settings) {
  const fs::path file = folder / "synth.json";
  std::error_code error;
  const std::string wanted = canonical_json(identity_of(settings));
  if (!fs::exists(file, error)) {
    if (!fs::is_empty(folder, error) && !fs::exists(folder / "lock", error))
      return fail(fmt::format("{} is not empty, and no folder of `dataset synth`", folder.string()),
                  "choose another --output");
    return write_file(file, wanted + "\n");
  }
  auto text = read_file(file);
  if (!text) return std::unexpected(text.error());
  if (canonical_json_text(*text) == wanted) return {};
  auto before = parse_json(*text);
  if (!before || !before->is_object())
    return fail(fmt::format("{} is damaged", file.string()), "choose another --output");
  return fail(fmt::format("{} was made with other settings: {}", folder.string(),
                          settings_change(before->get_object(), identity_of(settings))),
              "choose another --output, or give the settings and sources that the folder was made with");
}

Result<Fd> lock_of(const fs::path& folder) {
  const fs::path path = folder / "lock";
  Fd fd(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot make {}: {}", path.string(), errno_text(errno)));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(fmt::format("another run uses {}", folder.string()),
                "wait for it, or choose another --output");
  return fd;
}

// Opens a file of lines for appending; calls `each` for its complete lines, and cuts off the rest.
Result<Fd> open_lines(const fs::path& path, const std::function<Result<>(const json::object&)>& each) {
  Fd fd(::open(path.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot open {}: {}", path.string(), errno_text(errno)));
  auto text = read_file(path, std::size_t{1} << 36);
  if (!text) return std::unexpected(text.error());
  std::size_t begin = 0;
  for (std::size_t end = text->find('\n'); end != std::string::npos; end = text->find('\n', begin)) {
    auto value = parse_json(std::string_view(*text).substr(begin, end - begin));
    if (!value || !value->is_object())
      return fail(fmt::format("{} is damaged at byte {}", path.string(), begin), "choose another --output");
    if (auto taken = each(value->get_object()); !taken) return std::unexpected(taken.error());
    begin = end + 1;
  }
  if (begin < text->size() && ::ftruncate(fd.get(), static_cast<off_t>(begin)) != 0)
    return fail(fmt::format("cannot cut {}: {}", path.string(), errno_text(errno)));
  return fd;
}

bool is_cuda_verified(const json::object& line) {
  return bool_at(line, "cuda_verified").value_or(false);
}

Result<> append(const Fd& fd, const json::object& line) {
  if (write_all(fd.get(), json::serialize(line) + "\n")) return {};
  return fail(fmt::format("cannot write the set: {}", errno_text(errno)),
              "free space; the same command goes on");
}

}  // namespace

Result<SynthFolder> SynthFolder::open(const fs::path& path, const SynthSettings& settings) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail(fmt::format("cannot make {}: {}", path.string(), error.message()));
  if (auto fits = check_identity(path, settings); !fits) return std::unexpected(fits.error());
  SynthFolder folder(settings);
  auto lock = lock_of(path);
  if (!lock) return std::unexpected(lock.error());
  folder.lock_ = std::move(*lock);
  for (Result<> read : {folder.read_judged(path / "pairs.jsonl", Outcome::verified),
                        folder.read_judged(path / "repair.jsonl", Outcome::repair),
                        folder.read_drafts(path / "drafts.jsonl")})
    if (!read) return std::unexpected(read.error());
  return folder;
}

Result<> SynthFolder::read_judged(const fs::path& path, Outcome outcome) {
  auto file = open_lines(path, [&](const json::object& line) -> Result<> {
    auto number = number_at(line, "number");
    if (!number) return {};
    judged_[static_cast<std::uint64_t>(*number)] = outcome;
    if (is_cuda_verified(line)) cuda_verified_.insert(static_cast<std::uint64_t>(*number));
    return {};
  });
  if (!file) return std::unexpected(file.error());
  (outcome == Outcome::verified ? pairs_ : repair_) = std::move(*file);
  return {};
}

Result<> SynthFolder::read_drafts(const fs::path& path) {
  auto file = open_lines(path, [&](const json::object& line) -> Result<> {
    auto draft = draft_from(line);
    if (!draft || draft->number != next_)
      return fail(fmt::format("{} is damaged: draft {} is missing", path.string(), next_),
                  "choose another --output");
    take(std::move(*draft));
    return {};
  });
  if (!file) return std::unexpected(file.error());
  drafts_ = std::move(*file);
  return {};
}

Result<> SynthFolder::add(const std::vector<Draft>& drafts) {
  for (const Draft& draft : drafts) {
    if (auto written = append(drafts_, to_json(draft)); !written) return written;
    take(draft);
  }
  return {};
}

void SynthFolder::take(Draft draft) {
  next_ = draft.number + 1;
  Yield& yield = yields_[draft.family.empty() ? "unknown" : draft.family];
  ++yield.sources;
  if (draft.stage != "compile" && draft.stage != "source") ++yield.compiled;
  if (draft.kernel.empty()) {
    ++reasons_[fmt::format("{}: {}", draft.stage, draft.reason)];
    return;
  }
  ++yield.rewritten;
  if (distinct_.add(draft.number, comparable_text(draft))) {
    ++yield.duplicates;
    return;
  }
  auto judged = judged_.find(draft.number);
  if (judged == judged_.end()) {
    open_.push_back(std::move(draft));
    return;
  }
  ++(judged->second == Outcome::verified ? yield.verified : yield.repair);
  if (judged->second == Outcome::verified) yield.cuda_verified += cuda_verified_.count(draft.number);
}

Result<> SynthFolder::add(const Draft& draft, Outcome outcome, const json::object& line) {
  if (auto written = append(outcome == Outcome::verified ? pairs_ : repair_, line); !written) return written;
  judged_[draft.number] = outcome;
  Yield& yield = yields_[draft.family];
  ++(outcome == Outcome::verified ? yield.verified : yield.repair);
  if (outcome == Outcome::verified && is_cuda_verified(line)) ++yield.cuda_verified;
  return {};
}

}  // namespace kw::synth
