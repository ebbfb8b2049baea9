#include "verify/judge/censuses.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <optional>

#include "base/core/text.h"
#include "base/process/child.h"
#include "base/process/watch.h"
#include "verify/census/census_file.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr auto census_limit =
    120s;  // reading 2.5 GB of libraries takes 4 s of one core, and longer from a slow disk
constexpr std::size_t longest_census = std::size_t{1} << 26;

}  // namespace

struct Censuses::Making {
  explicit Making(async::Loop& loop) : done(loop) {}

  async::Event done;
  Answer answer = fail("it is not ready");
  std::optional<process::Child> child = {};
};

namespace {

struct Files {
  Fd output;
  Fd errors;
};

Censuses::Answer answer_of(int status, const Files& files) {
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string why = to_plain_text(process::last_line(files.errors));
    return fail(why.empty() ? fmt::format("its process ended with status {}", status) : why);
  }
  auto bytes = read_memory_file(files.output, longest_census);
  if (!bytes) return std::unexpected(bytes.error());
  auto census = census::from_bytes(*bytes);
  if (!census) return std::unexpected(census.error());
  return std::make_shared<const census::Census>(std::move(*census));
}

}  // namespace

Censuses::~Censuses() {
  for (const auto& [capability, making] : makings_)
    if (making->child) making->child->kill(SIGKILL);
}

std::shared_ptr<Censuses::Making> Censuses::begin(unsigned capability,
                                                  const std::vector<std::string>& folders) {
  auto making = std::make_shared<Making>(loop_);
  auto failed = [&](const Error& error) {
    making->answer = std::unexpected(error);
    making->done.set();
    return making;
  };
  if (folders.empty()) return failed(Error{"this PyTorch has no libraries for a GPU", ""});
  auto output = process::errors_file();
  auto errors = process::errors_file();
  if (!output || !errors) return failed(!output ? output.error() : errors.error());
  std::vector<std::string> words{maker_.string(), "--census", fmt::format("{}", capability)};
  words.insert(words.end(), folders.begin(), folders.end());
  auto child = process::Child::start({.arguments = words, .output = output->get(), .errors = errors->get()});
  if (!child) return failed(child.error());
  auto watch = process::ExitWatch::of(loop_, child->pid());
  if (!watch) return failed(watch.error());
  making->child.emplace(std::move(*child));
  auto wait = [](std::shared_ptr<Making> of, process::ExitWatch end, Files files) -> async::Task<> {
    co_await end.ended();
    of->answer = answer_of(of->child->wait(), files);
    of->child.reset();
    of->done.set();
  };
  async::spawn(loop_, wait(making, std::move(*watch), {std::move(*output), std::move(*errors)}));
  return making;
}

async::Task<Censuses::Answer> Censuses::of(unsigned capability, std::vector<std::string> folders,
                                           async::Stop& stop) {
  std::shared_ptr<Making>& known = makings_[capability];
  if (!known || (known->done.is_set() && !known->answer)) known = begin(capability, folders);
  const std::shared_ptr<Making> making = known;
  const auto ended = co_await async::within(async::Deadline::in(census_limit), &stop, making->done.wait());
  if (ended && !making->done.is_set())
    co_return fail(fmt::format("it is not ready after {} s", census_limit.count()));
  co_return making->answer;
}

void Censuses::keep(unsigned capability, census::Census census) {
  auto making = std::make_shared<Making>(loop_);
  making->answer = std::make_shared<const census::Census>(std::move(census));
  making->done.set();
  makings_[capability] = std::move(making);
}

}  // namespace kw::verify
