#include "verify/census/census.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/core/files.h"
#include "verify/census/fatbin.h"
#include "verify/recording/elf.h"

namespace kw::census {
namespace {

class MappedFile {
 public:
  static Result<MappedFile> of(const Library& library) {
    const Fd file(::open(library.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail(fmt::format("{}: {}", library.path.string(), std::strerror(errno)));
    void* start = ::mmap(nullptr, library.bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (start == MAP_FAILED) return fail(fmt::format("{}: {}", library.path.string(), std::strerror(errno)));
    ::madvise(start, library.bytes, MADV_SEQUENTIAL);
    return MappedFile(static_cast<const std::uint8_t*>(start), library.bytes);
  }
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
  }

  Bytes bytes() const { return bytes_; }

 private:
  MappedFile(const std::uint8_t* start, std::size_t count) : bytes_(start, count) {}
  Bytes bytes_;
};

// What was found in some libraries.
struct Found {
  std::size_t cubins = 0;
  std::size_t kernels = 0;
  std::size_t unreadable = 0;  // fat binaries and cubins
};

// Adds the keys of the kernels in one library that a GPU of this compute capability can run.
Result<Found> add_kernels(const Library& library, unsigned capability, std::vector<std::uint64_t>& keys) {
  Found found;
  if (library.bytes == 0) return found;
  auto file = MappedFile::of(library);
  if (!file) return std::unexpected(file.error());
  const FatbinCount count = for_each_cubin(file->bytes(), capability, [&](Bytes cubin) {
    auto elf = recording::Elf::of(cubin);
    if (!elf) {
      ++found.unreadable;
      return;
    }
    for (const auto& kernel : elf->kernels())
      if (const std::uint64_t key = recording::code_key(kernel.code); key != 0) {
        keys.push_back(key);
        ++found.kernels;
      }
  });
  found.cubins = count.cubins - found.unreadable;
  found.unreadable += count.unreadable;
  return found;
}

}  // namespace

Census::Census(std::vector<std::uint64_t> keys) : keys_(std::move(keys)) {
  std::ranges::sort(keys_);
  const auto same = std::ranges::unique(keys_);
  keys_.erase(same.begin(), same.end());
}

bool Census::has(std::uint64_t key) const {
  return key != 0 && std::ranges::binary_search(keys_, key);
}

Result<Census> take_census(const std::vector<Library>& libraries, unsigned capability) {
  std::vector<std::uint64_t> keys;
  Found all;
  for (const Library& each : libraries) {
    auto found = add_kernels(each, capability, keys);
    if (!found) return std::unexpected(found.error());
    all.cubins += found->cubins;
    all.kernels += found->kernels;
    all.unreadable += found->unreadable;
  }
  if (all.kernels == 0)
    return fail(fmt::format("no kernel for compute capability {}.{} is in {} libraries", capability / 10,
                            capability % 10, libraries.size()));
  constexpr std::size_t most_unreadable = 100;  // one in so many
  if (all.unreadable > all.cubins / most_unreadable)
    return fail(fmt::format("{} of {} cubins of the libraries cannot be read", all.unreadable,
                            all.cubins + all.unreadable));
  return Census(std::move(keys));
}

}  // namespace kw::census
