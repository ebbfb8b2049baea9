#include "dataset/synth/drafting.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "dataset/labels/answers.h"
#include "dataset/labels/compile_labels.h"

namespace kw::synth {
namespace json = boost::json;
namespace {

constexpr int starts = 3;  // of the helper, before drafting is abandoned

labels::HelperOptions helper_options(const DraftOptions& options) {
  std::vector<std::string> arguments{"--work",    options.source == Source::cuda ? "cuda_pair" : "pair",
                                     "--jobs",    fmt::format("{}", std::max(1U, options.jobs)),
                                     "--seconds", fmt::format("{}", std::max(1U, options.longest_s))};
  if (options.allow_unsandboxed) arguments.emplace_back("--unconfined");
  return {.python = options.python,
          .python_path = options.python_path,
          .native = options.native,
          .arguments = std::move(arguments),
          .stop = options.stop};
}

class Drafting {
 public:
  Drafting(const std::vector<std::uint64_t>& numbers, const DraftOptions& options)
      : numbers_(numbers), options_(options), drafts_(numbers.size()) {}

  Result<std::vector<Draft>> run() {
    std::string last_error;
    for (int start = 0; start < starts && done_ < numbers_.size(); ++start) {
      auto helper = labels::Helper::start(helper_options(options_));
      if (!helper) return std::unexpected(helper.error());
      auto whole = serve(*helper);
      if (!whole) return std::unexpected(whole.error());
      if (!*whole) last_error = helper->last_error();
    }
    if (done_ < numbers_.size())
      return fail(fmt::format("the process that makes pairs ends too early: {}", last_error),
                  "look for a lack of memory, or give fewer --jobs");
    std::vector<Draft> all;
    for (std::optional<Draft>& draft : drafts_) all.push_back(std::move(*draft));
    return all;
  }

 private:
  // True if every draft is there, false if the helper ended before.
  Result<bool> serve(labels::Helper& helper) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < drafts_.size(); ++i)
      if (!drafts_[i]) open.push_back(i);
    helper.feed([this, open, at = std::size_t{0}]() mutable -> std::optional<std::string> {
      if (at == open.size()) return {};
      const std::size_t place = open[at++];
      return fmt::format("{} {}", place, job_of(numbers_[place]));
    });
    for (std::size_t left = open.size(); left > 0; --left) {
      auto line = helper.line(options_.stop);
      if (!line) return std::unexpected(line.error());
      if (!*line) return false;
      auto reply = labels::read_reply(**line);
      if (!reply || reply->number >= drafts_.size() || drafts_[reply->number])
        return fail("the process that makes pairs answered an unknown job");
      if (reply->how.starts_with("refused"))
        return fail(fmt::format("a source cannot be confined: {}", reply->how),
                    "see `kernelwright doctor`, or accept --allow-unsandboxed");
      drafts_[reply->number] = draft_of_answer(numbers_[reply->number], reply->how, reply->answer);
      ++done_;
      if (options_.progress) options_.progress(done_, numbers_.size());
    }
    return true;
  }

  std::string job_of(std::uint64_t number) const {
    json::object job{{"seed", options_.seed},
                     {"number", number},
                     {"families", json::array(options_.families.begin(), options_.families.end())}};
    return json::serialize(job);
  }

  const std::vector<std::uint64_t>& numbers_;
  const DraftOptions& options_;
  std::vector<std::optional<Draft>> drafts_;
  std::size_t done_ = 0;
};

}  // namespace

Result<std::vector<Draft>> make_drafts(const std::vector<std::uint64_t>& numbers,
                                       const DraftOptions& options) {
  return Drafting(numbers, options).run();
}

}  // namespace kw::synth
