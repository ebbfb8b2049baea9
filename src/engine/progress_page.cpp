#include "engine/progress_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "base/text.h"

namespace kw::engine {
namespace {

constexpr std::size_t page_bytes = 4096;

}  // namespace

Result<ProgressPage> ProgressPage::create() {
  Fd fd(::memfd_create("progress", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), page_bytes) != 0)
    return fail("cannot create a memory file: " + errno_text(errno));
  // A runner that shrank the file would have our read end in SIGBUS.
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

}  // namespace kw::engine
