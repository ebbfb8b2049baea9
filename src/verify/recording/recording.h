// A recording, read from a file that a candidate's process wrote, with accessors that return empty values
// for missing parts. All content is checked before use. The format is wire/recording.fbs; docs/recording.md
// describes its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "recording_generated.h"

namespace kw::recording {

using Spans = flatbuffers::Vector<const Span*>;

// Accessors that return empty values for missing parts of a recording.
inline std::string_view text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

inline std::span<const std::uint8_t> bytes_of(const flatbuffers::Vector<std::uint8_t>* bytes) {
  if (bytes == nullptr) return {};
  return {bytes->data(), bytes->size()};
}

inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename List>
std::size_t size_of(const List* list) {
  return list == nullptr ? 0 : list->size();
}

// The entry of a list of tables or structs.
template <typename List>
auto entry(const List* list, std::size_t index) {
  return list->Get(static_cast<flatbuffers::uoffset_t>(index));
}

// A recording, read from a file that a candidate's process wrote. All content is checked before use. The
// format is wire/recording.fbs; docs/recording.md describes its parts.
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t max_file_bytes = std::size_t{1} << 30;
inline constexpr std::size_t max_operations = 200'000;
inline constexpr std::size_t max_streams = 64;

struct Checks {
  bool hashes = true;  // false: hashes of cubins are not compared (for a fuzzer, which cannot guess them)
};

// A view of verified bytes. They must outlive it, must not change meanwhile, and must be aligned for a word
// (mapped files and separate strings are).
class View {
 public:
  // Verifies the structure and every number in it: ranges are inside heap or arena, nothing overflows,
  // indices exist, cubins are 64-bit ELF files for an NVIDIA device with their tables inside and the stated
  // hash, and parameters are inside their buffers. The error names the wrong part.
  static Result<View> of(std::string_view bytes, Checks checks = {});

  const Recording& operator*() const { return *recording_; }
  const Recording* operator->() const { return recording_; }

 private:
  explicit View(const Recording* recording) : recording_(recording) {}
  const Recording* recording_;
};

// Empty if the call can be replayed, else the reasons: its obstacles, no operation, ...
std::string why_not_replayable(const Recording& recording);

// Names and sizes of the variables in a cubin's writable global and constant memory. The image was checked.
struct Variable {
  std::string name;
  std::uint64_t bytes = 0;
};
std::vector<Variable> variables(std::span<const std::uint8_t> image);

// Text for `kernelwright recording show`. Plain text; control characters of names are replaced.
std::string shown(const Recording& recording);

}  // namespace kw::recording
