// A recording, read from a file that a candidate's process wrote: nothing in it is believed before it was
// checked. The format is wire/recording.fbs; docs/recording.md tells what each part is for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "recording_generated.h"

namespace kw::recording {

inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t max_file_bytes = std::size_t{1} << 30;
inline constexpr std::size_t max_operations = 200'000;
inline constexpr std::size_t max_streams = 64;

struct Checks {
  bool hashes = true;  // false: cubins need not be what their hash says (for a fuzzer, which cannot guess it)
};

// A view of bytes that were verified: they must outlive it, and nobody may change them meanwhile. They begin
// where a word may (mapped files and strings of their own do).
class View {
 public:
  // Verifies the structure and every number in it: ranges lie in heap or arena, nothing overflows, indices
  // exist, cubins are 64-bit ELF files for an NVIDIA device whose tables lie within them and whose content is
  // what their hash says, parameters lie within their buffers. The error says which part is wrong.
  static Result<View> of(std::string_view bytes, Checks checks = {});

  const Recording& operator*() const { return *recording_; }
  const Recording* operator->() const { return recording_; }

 private:
  explicit View(const Recording* recording) : recording_(recording) {}
  const Recording* recording_;
};

// Empty where the call can be replayed, else why not, in words: its obstacles, no operation at all, ...
std::string why_not_replayable(const Recording& recording);

// Names and sizes of the variables in a cubin's writable global and constant memory. The image was checked.
struct Variable {
  std::string name;
  std::uint64_t bytes = 0;
};
std::vector<Variable> variables(std::span<const std::uint8_t> image);

// For a person: `kernelwright recording show`. Plain text, control characters of names replaced.
std::string shown(const Recording& recording);

}  // namespace kw::recording
