#include "collect/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace kw::collect {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const auto failed = [&](int error) {
    return fail(fmt::format("cannot read {}: {}", path, errno_text(error)),
                "give the path of a readable file");
  };
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return failed(errno);
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return failed(errno);
  if (!S_ISREG(info.st_mode))
    return fail(fmt::format("{} is no file", path), "give a folder, a checkout or an archive");
  if (info.st_size == 0) return MappedFile(nullptr, 0);
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return failed(errno);
  return MappedFile(static_cast<const char*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

}  // namespace kw::collect
