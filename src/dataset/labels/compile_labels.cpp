#include "dataset/labels/compile_labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>

#include "base/core/json.h"
#include "base/core/text.h"
#include "dataset/labels/answers.h"
#include "dataset/labels/labels.h"

namespace kw::labels {
namespace {

constexpr int poll_ms = 100;
constexpr std::size_t longest_line = std::size_t{1} << 20;

std::vector<std::string> arguments_of(const CompileOptions& options) {
  std::vector<std::string> arguments{"--jobs",    fmt::format("{}", std::max(1U, options.jobs)),
                                     "--seconds", fmt::format("{}", std::max(1U, options.longest_s)),
                                     "--targets", fmt::format("{}", fmt::join(options.targets, ","))};
  if (!options.nvcc.empty()) arguments.insert(arguments.end(), {"--nvcc", options.nvcc});
  if (options.allow_unsandboxed) arguments.emplace_back("--unconfined");
  return arguments;
}

std::vector<std::string> command_of(const HelperOptions& options) {
  // -P: no module of the current folder takes the place of one that the helper imports.
  std::vector<std::string> command{options.python, "-P", "-W",
                                   "ignore",       "-m", "kernelwright._dataset.label_server"};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  return command;
}

// Passes listed variables only, so that no secret reaches untrusted code.
std::vector<std::string> environment_of(const HelperOptions& options) {
  std::vector<std::string> result{fmt::format("PYTHONPATH={}", fmt::join(options.python_path, ":")),
                                  "KERNELWRIGHT_NATIVE=" + options.native, "PYTHONDONTWRITEBYTECODE=1",
                                  "PYTHONHASHSEED=0", "HOME=/tmp", "LC_ALL=C.UTF-8",
                                  // Larger pages make the fork of a large process cheaper.
                                  "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "TZ"})
    if (const char* value = std::getenv(name)) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

// MSG_NOSIGNAL: writing to an ended helper returns an error instead of raising SIGPIPE.
bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

Helper::~Helper() {
  child_.reset();
  if (feeder_.joinable()) feeder_.join();
}

Result<Helper> Helper::start(const CompileOptions& options) {
  return start(HelperOptions{.python = options.python,
                             .python_path = options.python_path,
                             .native = options.native,
                             .arguments = arguments_of(options),
                             .stop = options.stop});
}

Result<Helper> Helper::start(const HelperOptions& options) {
  std::array<int, 2> sockets{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return fail(fmt::format("cannot make a socket: {}", errno_text(errno)));
  Helper helper;
  helper.jobs_ = Fd(sockets[0]);
  Fd input(sockets[1]);
  auto output = process::make_pipe();
  if (!output) return std::unexpected(output.error());
  auto errors = process::errors_file();
  if (!errors) return std::unexpected(errors.error());
  auto child = process::Child::start({.arguments = command_of(options),
                                      .environment = environment_of(options),
                                      .input = input.get(),
                                      .output = output->second.get(),
                                      .errors = errors->get()});
  if (!child) return fail(child.error().what, "name a python that has torch and triton with --python");
  helper.child_.emplace(std::move(*child));
  helper.replies_ = std::move(output->first);
  helper.errors_ = std::move(*errors);
  input.reset();
  output->second.reset();

  auto ready = helper.line(options.stop);
  if (!ready) return std::unexpected(ready.error());
  auto value = *ready ? parse_json(**ready) : Result<boost::json::value>(fail("it ended"));
  if (!value || !value->is_object())
    return fail(fmt::format("kernels cannot be compiled: {}", helper.last_error()),
                "install torch and triton (python/requirements.txt), or name a python that has them");
  if (auto error = string_at(value->as_object(), "error"))
    return fail(fmt::format("kernels cannot be confined: {}", *error),
                "run `make build`, or accept --allow-unsandboxed");
  helper.triton_ = string_at(value->as_object(), "triton").value_or("");
  return helper;
}

void Helper::feed(std::function<std::optional<std::string>()> next) {
  feeder_ = std::thread([socket = jobs_.get(), next = std::move(next)] {
    while (auto text = next())
      if (!send_all(socket, *text + "\n")) return;
    ::shutdown(socket, SHUT_WR);
  });
}

Result<std::optional<std::string>> Helper::line(const std::function<bool()>& stop) {
  while (true) {
    std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string text = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return text;
    }
    searched_ = buffer_.size();
    if (searched_ > longest_line) return fail("the process that compiles kernels wrote an endless line");
    if (stop && stop()) return fail("stopped");
    pollfd polled{replies_.get(), POLLIN, 0};
    if (::poll(&polled, 1, poll_ms) <= 0) continue;
    std::array<char, 65536> bytes;
    ssize_t got = ::read(replies_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::optional<std::string>();
    buffer_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::string Helper::last_error() const {
  std::string line = process::last_line(errors_);
  return line.empty() ? "it ended without a word" : to_plain_text(line);
}

namespace {

using corpus::Unit;
using corpus::UnitKind;

constexpr std::size_t largest_job = std::size_t{4} << 20;
constexpr int starts = 3;  // of the helper, before compilation is abandoned

// nvcc in the folders of PATH; empty if there is none.
std::string find_nvcc() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    std::size_t colon = std::min(rest.find(':'), rest.size());
    std::string file = std::string(rest.substr(0, colon)) + "/nvcc";
    if (colon > 0 && ::access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

// Why a unit is not compiled, by properties that need no helper; empty if it is compiled.
std::optional<std::string> excuse(const Unit& unit, const CompileOptions& options) {
  if (unit.kind == UnitKind::torch) return "";
  if (unit.kind != UnitKind::triton && options.nvcc.empty()) return "no nvcc";
  std::size_t bytes = unit.text.size() + unit.context.size();
  for (const corpus::Launch& launch : unit.launches) bytes += launch.caller_text.size();
  if (bytes > largest_job) return "too large";
  return {};
}

// Whether the reply depends on this attempt (time, memory) and not on the kernel.
bool is_passing(const Reply& reply) {
  return reply.how != "answered";
}

struct Job {
  std::string key;
  std::vector<std::size_t> units;  // equal units share an answer
  bool done = false;
};

class Work {
 public:
  Work(const std::vector<Unit>& units, const CompileOptions& options)
      : units_(units), options_(options), targets_(target_names(options)), labels_(units.size()) {}

  Result<std::vector<corpus::Labels>> run() {
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (auto why = excuse(units_[i], options_))
        labels_[i].compile_reason = *why;
      else
        wanted.push_back(i);
    }
    for (int start = 0; start < starts && !wanted.empty(); ++start) {
      auto helper = Helper::start(options_);
      if (!helper) return std::unexpected(helper.error());
      if (start == 0) {
        if (auto ready = gather(wanted, helper->triton()); !ready) return std::unexpected(ready.error());
      }
      auto whole = serve(*helper);
      if (!whole) return std::unexpected(whole.error());
      if (*whole) return std::move(labels_);
      last_error_ = helper->last_error();
    }
    if (wanted.empty()) return std::move(labels_);
    return fail(fmt::format("the process that compiles kernels ends too early: {}", last_error_),
                "look for a lack of memory, or give fewer --jobs");
  }

 private:
  // Merges equal jobs, and answers those in the cache.
  Result<> gather(const std::vector<std::size_t>& wanted, const std::string& triton) {
    auto cache = AnswerCache::open(options_.cache, targets_);
    if (!cache) return std::unexpected(cache.error());
    cache_ = std::move(*cache);
    std::map<std::string, std::size_t> known;
    for (std::size_t unit : wanted) {
      std::string key = job_key(job_line(units_[unit]), options_, triton);
      if (const Answer* answer = cache_.find(key)) {
        give(unit, *answer);
        continue;
      }
      auto [place, fresh] = known.try_emplace(key, jobs_.size());
      if (fresh) jobs_.push_back({key, {}});
      jobs_[place->second].units.push_back(unit);
    }
    return {};
  }

  // True if every job was answered, false if the helper ended before.
  Result<bool> serve(Helper& helper) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (!jobs_[i].done) open.push_back(i);
    helper.feed([this, open, at = std::size_t{0}]() mutable -> std::optional<std::string> {
      if (at == open.size()) return {};
      std::size_t job = open[at++];
      return fmt::format("{} {}", job, job_line(units_[jobs_[job].units.front()]));
    });
    for (std::size_t left = open.size(); left > 0; --left) {
      auto line = helper.line(options_.stop);
      if (!line) return std::unexpected(line.error());
      if (!*line) return false;
      auto reply = read_reply(**line);
      if (!reply || reply->number >= jobs_.size() || jobs_[reply->number].done)
        return fail("the process that compiles kernels answered an unknown job");
      if (reply->how.starts_with("refused"))
        return fail(fmt::format("a kernel cannot be confined: {}", reply->how),
                    "see `kernelwright doctor`, or accept --allow-unsandboxed");
      if (auto taken = take(*reply); !taken) return std::unexpected(taken.error());
    }
    return true;
  }

  Result<> take(const Reply& reply) {
    Job& job = jobs_[reply.number];
    Answer answer = answer_of(reply, targets_);
    job.done = true;
    for (std::size_t unit : job.units) give(unit, answer);
    bool passing = is_passing(reply) || answer.reason.starts_with("time limit");
    if (!passing)
      if (auto kept = cache_.keep(job.key, answer); !kept) return kept;
    if (options_.progress) options_.progress(++done_, jobs_.size());
    return {};
  }

  void give(std::size_t unit, const Answer& answer) {
    labels_[unit].compile = answer.label;
    labels_[unit].compile_reason = answer.reason;
    labels_[unit].compiled_for = answer.compiled_for;
  }

  const std::vector<Unit>& units_;
  const CompileOptions& options_;
  std::vector<std::string> targets_;
  std::vector<corpus::Labels> labels_;
  std::vector<Job> jobs_;
  AnswerCache cache_;
  std::size_t done_ = 0;
  std::string last_error_;
};

}  // namespace

Result<std::vector<corpus::Labels>> compile_labels(const std::vector<Unit>& units,
                                                   const CompileOptions& options) {
  CompileOptions settled = options;
  if (settled.nvcc.empty()) settled.nvcc = find_nvcc();
  return Work(units, settled).run();
}

}  // namespace kw::labels
