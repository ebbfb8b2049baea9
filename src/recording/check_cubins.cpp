#include <fmt/format.h>

#include "base/hash.h"
#include "recording/check.h"
#include "recording/limits.h"
#include "recording/parts.h"

namespace kw::recording {
namespace {

Result<> check_globals(const Cubin& cubin, const Elf& elf, Budget& budget) {
  if (size_of(cubin.globals()) > max_globals) return fail(fmt::format("more than {} globals", max_globals));
  for (std::size_t i = 0; i < size_of(cubin.globals()); ++i) {
    const Global& global = *entry(cubin.globals(), i);
    std::string_view name = text_of(global.name());
    if (!budget.take(name.size() + size_of(global.bytes()))) return fail("its globals are too large");
    if (!elf.has_object(name, size_of(global.bytes())))
      return fail(fmt::format("global {}: the image has no such variable of that size", i));
  }
  return {};
}

Result<Elf> check_cubin(const Cubin& cubin, Checks checks, Budget& budget) {
  auto image = bytes_of(cubin.image());
  if (!budget.take(image.size())) return fail("the images are too large together");
  if (checks.hashes && text_of(cubin.sha256()) != sha256_hex(as_text(image)))
    return fail("the image is not what its hash says");
  auto elf = Elf::of(image);
  if (!elf) return elf;
  if (auto good = check_globals(cubin, *elf, budget); !good) return std::unexpected(good.error());
  return elf;
}

}  // namespace

Result<std::vector<Elf>> check_cubins(const Recording& recording, Checks checks, Budget& budget) {
  std::vector<Elf> images;
  std::size_t count = size_of(recording.cubins());
  if (count > max_cubins) return fail(fmt::format("{} cubins; {} is the most", count, max_cubins));
  for (std::size_t i = 0; i < count; ++i) {
    auto elf = check_cubin(*entry(recording.cubins(), i), checks, budget);
    if (!elf) return fail(fmt::format("cubin {}: {}", i, elf.error().what));
    images.push_back(std::move(*elf));
  }
  return images;
}

}  // namespace kw::recording
