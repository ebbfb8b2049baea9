// contexts PROCESSES SECONDS [table]: what CUDA contexts cost the driver, which makes them one after another.
// Each of PROCESSES starts children for SECONDS; a child makes the context of device 0 and ends. Prints
// contexts a minute and the mean times as a JSON line; with `table`, also the driver calls that the children
// wait for: file operations on its devices, which this program's own ioctl, mmap, munmap and close measure.
#include <dlfcn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

enum class Kind : std::uint32_t { none, resource_manager, other_ioctl, mmap, munmap, close };
constexpr std::array kind_names{"", "rm", "uvm", "mmap", "munmap", "close"};

// A call of the driver: of an ioctl its number, of an allocation or control also its class or command.
struct Call {
  Kind kind = Kind::none;
  std::uint32_t number = 0;
  std::uint32_t detail = 0;
  std::uint64_t count = 0;
  double ms = 0;
};

constexpr std::size_t most_calls = 1024;
struct Sums {
  std::atomic_flag lock;
  std::uint64_t contexts = 0;
  double init_ms = 0, make_ms = 0;
  std::array<Call, most_calls> calls;
};

Sums* sums = nullptr;              // of all children, in shared memory
std::array<Call, most_calls> own;  // of this child
bool is_recording = false;

void add(std::array<Call, most_calls>& calls, const Call& call) {
  for (Call& each : calls) {
    const bool is_same = each.kind == call.kind && each.number == call.number && each.detail == call.detail;
    if (each.kind != Kind::none && !is_same) continue;
    each.kind = call.kind;
    each.number = call.number;
    each.detail = call.detail;
    each.count += call.count;
    each.ms += call.ms;
    return;
  }
}

void record(Kind kind, Clock::time_point begin, std::uint32_t number = 0, std::uint32_t detail = 0) {
  if (is_recording) add(own, {kind, number, detail, 1, ms_since(begin)});
}

// Of NVIDIA's resource manager, whose ioctls have the type 'F': the class of an allocation, the command of a
// control.
constexpr std::uint32_t allocates = 0x2b, controls = 0x2a;
std::uint32_t detail_of(std::uint32_t number, const void* argument) {
  std::array<std::uint32_t, 4> words{};
  if (argument == nullptr || (number != allocates && number != controls)) return 0;
  std::memcpy(words.data(), argument, sizeof words);
  return number == allocates ? words[3] : words[2];
}

void* timed_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  const auto begin = Clock::now();
  const long mapped = syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
  if (file >= 0) record(Kind::mmap, begin);
  void* result = nullptr;
  std::memcpy(&result, &mapped, sizeof result);
  return result;
}

}  // namespace

// libcuda calls these in place of libc's.
extern "C" {
int ioctl(int file, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  const auto number = static_cast<std::uint32_t>(request & 0xff);
  const bool is_rm = (request >> 8 & 0xff) == 'F';
  const std::uint32_t detail = is_rm ? detail_of(number, argument) : 0;
  const auto begin = Clock::now();
  const long result = syscall(SYS_ioctl, file, request, argument);
  record(is_rm ? Kind::resource_manager : Kind::other_ioctl, begin,
         is_rm ? number : static_cast<std::uint32_t>(request), detail);
  return static_cast<int>(result);
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  return timed_mmap(at, bytes, protection, flags, file, offset);
}
void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file, off64_t offset) noexcept {
  return timed_mmap(at, bytes, protection, flags, file, offset);
}
int munmap(void* at, std::size_t bytes) noexcept {
  const auto begin = Clock::now();
  const long result = syscall(SYS_munmap, at, bytes);
  record(Kind::munmap, begin);
  return static_cast<int>(result);
}
int close(int file) {
  const auto begin = Clock::now();
  const long result = syscall(SYS_close, file);
  record(Kind::close, begin);
  return static_cast<int>(result);
}
}

namespace {

struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*retain)(void**, int) = nullptr;
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  void* found = dlsym(library, name);
  std::memcpy(&function, &found, sizeof function);
}

[[noreturn]] void make_context(const Driver& driver) {
  is_recording = true;
  void* context = nullptr;
  const auto begin = Clock::now();
  int error = driver.init(0);
  const double init_ms = ms_since(begin);
  if (error == 0) error = driver.retain(&context, 0);
  const double all_ms = ms_since(begin);
  is_recording = false;
  if (error != 0) {
    std::fprintf(stderr, "contexts: the driver answers %d\n", error);
    _exit(1);
  }
  while (sums->lock.test_and_set()) {
  }
  ++sums->contexts;
  sums->init_ms += init_ms;
  sums->make_ms += all_ms - init_ms;
  for (const Call& call : own)
    if (call.kind != Kind::none) add(sums->calls, call);
  sums->lock.clear();
  _exit(0);
}

void make_contexts(const Driver& driver, Clock::time_point begin, double limit_ms) {
  while (ms_since(begin) < limit_ms) {
    const pid_t child = fork();
    if (child == 0) make_context(driver);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) _exit(1);
  }
  _exit(0);
}

// A device without a context is started anew by the first one, which takes a second.
pid_t hold_context(const Driver& driver) {
  const pid_t holder = fork();
  if (holder != 0) return holder;
  void* context = nullptr;
  if (driver.init(0) != 0 || driver.retain(&context, 0) != 0) _exit(1);
  for (;;) pause();
}

}  // namespace

int main(int argc, char** argv) {
  const int processes = argc > 2 ? std::atoi(argv[1]) : 0;
  const double limit_ms = argc > 2 ? std::atof(argv[2]) * 1e3 : 0;
  if (processes < 1 || limit_ms <= 0) {
    std::fputs("usage: contexts PROCESSES SECONDS [table]\n", stderr);
    return 2;
  }
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::fputs("contexts: there is no libcuda.so.1\n", stderr);
    return 1;
  }
  Driver driver;
  find(library, "cuInit", driver.init);
  find(library, "cuDevicePrimaryCtxRetain", driver.retain);
  sums = new (mmap(nullptr, sizeof(Sums), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Sums;

  const pid_t holder = hold_context(driver);
  sleep(3);
  const auto begin = Clock::now();
  for (int each = 0; each < processes; ++each)
    if (fork() == 0) make_contexts(driver, begin, limit_ms);
  int failed = 0;
  for (int each = 0; each < processes; ++each) {
    int status = 0;
    if (waitpid(-1, &status, 0) < 0 || status != 0) ++failed;
  }
  const double took_ms = ms_since(begin);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  if (failed > 0 || sums->contexts == 0) return 1;

  const auto contexts = static_cast<double>(sums->contexts);
  const double cycle_ms = processes * took_ms / contexts;
  std::printf(
      R"({"processes":%d,"contexts_a_minute":%.0f,"cycle_ms":%.1f,"init_ms":%.1f,"make_ms":%.1f,"end_ms":%.1f})"
      "\n",
      processes, contexts / took_ms * 6e4, cycle_ms, sums->init_ms / contexts, sums->make_ms / contexts,
      cycle_ms - (sums->init_ms + sums->make_ms) / contexts);
  if (argc < 4 || std::string_view(argv[3]) != "table") return 0;
  for (const Call& call : sums->calls)
    if (call.kind != Kind::none)
      std::printf(R"({"call":"%s","number":"%x","detail":"%x","count":%.2f,"ms":%.3f})"
                  "\n",
                  kind_names.at(static_cast<std::size_t>(call.kind)), call.number, call.detail,
                  static_cast<double>(call.count) / contexts, call.ms / contexts);
  return 0;
}
