// Parts of a recording that may be missing read as empty ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "recording_generated.h"

namespace kw::recording {

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

}  // namespace kw::recording
