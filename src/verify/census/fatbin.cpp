#include "verify/census/fatbin.h"

#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace kw::census {
namespace {

// NVIDIA does not document the format. These structures are those of CUDA 11 to 13.
struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // of all entries
};
static_assert(sizeof(Header) == 16);

struct Entry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;  // with padding
  std::uint32_t compressed_bytes;
  std::uint32_t options_offset;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t architecture;  // 90
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t plain_bytes;  // 0: not compressed
};
static_assert(sizeof(Entry) == 64);

constexpr std::uint32_t fatbin_magic = 0xBA55ED50;
constexpr std::uint16_t fatbin_version = 1;
constexpr std::size_t alignment = 8;
constexpr std::uint16_t kind_cubin = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;
constexpr std::uint64_t longest_cubin = std::uint64_t{1} << 30;

// Empty if the file ends before it.
template <typename Part>
std::optional<Part> part_at(Bytes file, std::size_t at) {
  if (at > file.size() || file.size() - at < sizeof(Part)) return std::nullopt;
  Part part;
  std::memcpy(&part, file.data() + at, sizeof part);
  return part;
}

bool runs_on(std::uint32_t architecture, unsigned capability) {
  return architecture / 10 == capability / 10 && architecture <= capability;
}

class Reader {
 public:
  Reader(Bytes file, unsigned capability, const std::function<void(Bytes)>& each)
      : file_(file), capability_(capability), each_(each) {}

  FatbinCount read() {
    for (std::size_t at = 0; at + sizeof(Header) <= file_.size();) at = read_at(at);
    return count_;
  }

 private:
  // Returns the place at which the search goes on.
  std::size_t read_at(std::size_t at) {
    const Header header = *part_at<Header>(file_, at);
    const std::size_t begin = at + sizeof(Header);
    if (header.magic != fatbin_magic || header.version != fatbin_version ||
        header.header_bytes != sizeof(Header) || header.bytes > file_.size() - begin)
      return at + alignment;
    const std::size_t end = begin + header.bytes;
    for (std::size_t entry = begin; entry < end;) {
      const std::size_t next = read_entry(entry, end);
      if (next == 0) {
        ++count_.unreadable;
        return at + alignment;
      }
      entry = next;
    }
    return (end + alignment - 1) / alignment * alignment;
  }

  // Returns the end of the entry, or 0 if it is damaged.
  std::size_t read_entry(std::size_t at, std::size_t limit) {
    const auto entry = part_at<Entry>(file_.first(limit), at);
    if (!entry || entry->header_bytes < sizeof(Entry) || entry->header_bytes > limit - at) return 0;
    const std::size_t begin = at + entry->header_bytes;
    if (entry->bytes > limit - begin) return 0;
    if (entry->kind == kind_cubin && runs_on(entry->architecture, capability_))
      pass(*entry, file_.subspan(begin, entry->bytes));
    return begin + entry->bytes;
  }

  void pass(const Entry& entry, Bytes payload) {
    const bool compressed = (entry.flags & (flag_lz4 | flag_zstd)) != 0;
    const auto cubin = compressed ? unpacked(entry, payload) : std::optional(payload);
    if (!cubin) {
      ++count_.unreadable;
      return;
    }
    ++count_.cubins;
    each_(*cubin);
  }

  std::optional<Bytes> unpacked(const Entry& entry, Bytes payload) {
    if (entry.plain_bytes == 0 || entry.plain_bytes > longest_cubin) return std::nullopt;
    if (entry.compressed_bytes > payload.size()) return std::nullopt;
    const Bytes packed = payload.first(entry.compressed_bytes);
    plain_.resize(entry.plain_bytes);
    const bool done = (entry.flags & flag_zstd) != 0 ? unpack_zstd(packed) : unpack_lz4(packed);
    return done ? std::optional<Bytes>(plain_) : std::nullopt;
  }

  bool unpack_zstd(Bytes packed) {
    const std::size_t bytes = ZSTD_decompress(plain_.data(), plain_.size(), packed.data(), packed.size());
    return ZSTD_isError(bytes) == 0 && bytes == plain_.size();
  }

  bool unpack_lz4(Bytes packed) {
    if (packed.size() > std::numeric_limits<int>::max()) return false;
    const int bytes = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()),
                                          reinterpret_cast<char*>(plain_.data()),
                                          static_cast<int>(packed.size()), static_cast<int>(plain_.size()));
    return bytes >= 0 && static_cast<std::size_t>(bytes) == plain_.size();
  }

  Bytes file_;
  unsigned capability_;
  const std::function<void(Bytes)>& each_;
  FatbinCount count_;
  std::vector<std::uint8_t> plain_;
};

}  // namespace

FatbinCount for_each_cubin(Bytes file, unsigned capability, const std::function<void(Bytes)>& each) {
  return Reader(file, capability, each).read();
}

}  // namespace kw::census
