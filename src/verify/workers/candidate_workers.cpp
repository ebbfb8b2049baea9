#include "verify/workers/candidate_workers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <ranges>

#include <atomic>

#include "base/core/text.h"
#include "verify/messages/launch_list.h"
#include "verify/workers/worker.h"

namespace kw::engine {
namespace {

constexpr std::size_t page_bytes = 4096;

}  // namespace

Result<ProgressPage> ProgressPage::create() {
  Fd fd(::memfd_create("progress", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), page_bytes) != 0)
    return fail("cannot create a memory file: " + errno_text(errno));
  // If a runner shrank the file, the supervisor's read would raise SIGBUS.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail("cannot seal a memory file: " + errno_text(errno));
  void* at = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return fail("cannot map a memory file: " + errno_text(errno));
  return ProgressPage(std::move(fd), static_cast<std::uint64_t*>(at));
}

ProgressPage::~ProgressPage() {
  if (words_ != nullptr) ::munmap(words_, page_bytes);
}

std::uint64_t ProgressPage::word(std::size_t index) const {
  return std::atomic_ref(words_[index]).load(std::memory_order_relaxed);
}

async::Task<std::expected<wire::OpenedT, WorkerFailure>> Runner::open(wire::OpenT request, std::string code,
                                                                      int call_spec, int arena,
                                                                      async::Deadline deadline) {
  auto source = memory_file("candidate", code);
  if (!source) co_return refused({Lost::Why::closed, source.error().what, {}});
  source_ = std::move(*source);
  std::vector<int> fds{call_spec, page_.fd(), arena};
  auto answer =
      co_await exchange<wire::OpenedT>(*worker_, wire::encode(std::move(request)), std::move(fds), deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::LoadedT, WorkerFailure>> Runner::load(wire::LoadT request,
                                                                      async::Deadline deadline) {
  auto answer =
      co_await exchange<wire::LoadedT>(*worker_, wire::encode(std::move(request)), {source_.get()}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::ReturnedT, WorkerFailure>> Runner::call(wire::CallT request, int arena,
                                                                        async::Deadline deadline) {
  std::vector<int> fds;
  if (arena >= 0) fds.push_back(arena);
  auto answer = co_await exchange<wire::ReturnedT>(*worker_, wire::encode(std::move(request)), std::move(fds),
                                                   deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

async::Task<std::expected<Recorded, WorkerFailure>> Runner::record(wire::RecordT request, int arena,
                                                                   async::Deadline deadline) {
  auto answer =
      co_await exchange<wire::RecordedT>(*worker_, wire::encode(std::move(request)), {arena}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  auto& fds = answer->fds;
  if (fds.size() < 2 || !answer->message.returned || !answer->message.outputs)
    co_return refused({Lost::Why::malformed, "a recording without its parts", co_await worker_->end()});
  Recorded recorded{std::move(answer->message), std::move(fds[0]), std::move(fds[1]), {}};
  if (fds.size() > 2) recorded.state = std::move(fds[2]);
  co_return recorded;
}

async::Task<std::expected<wire::TimedT, WorkerFailure>> Runner::time(wire::TimeCandidateT request,
                                                                     async::Deadline deadline) {
  auto answer = co_await exchange<wire::TimedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::ReplayableT, WorkerFailure>> Replayer::load(wire::LoadRecordingT request,
                                                                            Files files,
                                                                            async::Deadline deadline) {
  std::vector<int> fds{files.recording, files.arena};
  if (files.state >= 0) fds.push_back(files.state);
  auto answer = co_await exchange<wire::ReplayableT>(*worker_, wire::encode(std::move(request)),
                                                     std::move(fds), deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  if (!wire::complete(answer->message.launches))
    co_return refused({Lost::Why::malformed, "a launch without its kernel", co_await worker_->end()});
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::ReplayedT, WorkerFailure>> Replayer::replay(wire::ReplayT request,
                                                                            async::Deadline deadline) {
  auto answer = co_await exchange<wire::ReplayedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

async::Task<std::expected<Fd, WorkerFailure>> Replayer::conclude(async::Deadline deadline) {
  auto answer = co_await exchange<wire::ConcludedT>(*worker_, wire::encode(wire::ConcludeT()), {}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  if (answer->fds.empty()) co_return Fd();
  co_return std::move(answer->fds.front());
}

namespace {

constexpr std::size_t most_cubin_bytes = std::size_t{128} << 20;  // twice CUBIN_BYTES of native_builds.py
constexpr std::size_t most_reasons = 16;
constexpr std::size_t most_reason_bytes = 400;

std::vector<std::string> plain(const std::vector<std::string>& lines) {
  std::vector<std::string> found;
  for (const std::string& each : lines | std::views::take(most_reasons))
    found.push_back(shorten(to_plain_text(each), most_reason_bytes));
  return found;
}

// The parts of the one file that a broker may send.
Result<std::vector<std::string>> cubins_of(const std::vector<std::uint64_t>& sizes,
                                           const std::vector<Fd>& fds) {
  std::vector<std::string> found;
  if (sizes.empty()) return found;
  if (fds.size() != 1) return fail("the compile broker named cubins and sent none");
  auto bytes = read_memory_file(fds.front(), most_cubin_bytes);
  if (!bytes) return std::unexpected(bytes.error());
  std::string_view rest = *bytes;
  for (const std::uint64_t size : sizes) {
    if (size > rest.size()) return fail("the compile broker sent less than the cubins that it named");
    found.emplace_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return found;
}

}  // namespace

async::Task<std::expected<Attestation, NoAttestation>> attested(std::shared_ptr<ForkServer> server,
                                                                Limits limits, int kernels,
                                                                wire::AttestT wanted,
                                                                async::Deadline deadline) {
  SpawnRequest request;
  request.role = Role::broker;
  request.limits = limits;
  auto worker = co_await server->spawn(std::move(request), deadline);
  if (!worker) co_return std::unexpected(NoAttestation{worker.error().what, false});
  auto answer =
      co_await exchange<wire::AttestedT>(**worker, wire::encode(std::move(wanted)), {kernels}, deadline);
  co_await (*worker)->end();
  if (!answer) {
    const WorkerFailure& failure = answer.error();
    co_return std::unexpected(
        NoAttestation{failure.failed ? to_plain_text(failure.failed->error) : failure.lost->detail, true});
  }
  const wire::AttestedT& made = answer->message;
  Attestation found{.own = {made.sha256.begin(), made.sha256.end()},
                    .brought = {made.brought.begin(), made.brought.end()},
                    .sources = made.sources,
                    .wrong = plain(made.wrong),
                    .not_built = plain(made.not_built)};
  auto cubins = cubins_of(made.cubin_bytes, answer->fds);
  if (!cubins) co_return std::unexpected(NoAttestation{cubins.error().what, true});
  found.cubins = std::move(*cubins);
  co_return found;
}

}  // namespace kw::engine
