// The code of one kernel as rows show it, and the context that fits around a hole in it.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/extract/code_parts.h"
#include "dataset/units/unit.h"

namespace kw::pairs {

// A kernel without the indentation that its first line has in the file.
struct KernelCode {
  std::string text;
  std::size_t definition = 0;  // the text up to here is decorators
  std::size_t body = 0;        // the text up to here is decorators and signature
  harvest::CodePart part;      // of the text
  // From each of these positions on, so many bytes of indentation are missing.
  std::vector<std::pair<std::size_t, std::size_t>> removed;

  // The position in the unit's text of a position in this text.
  std::size_t in_unit(std::size_t at) const;
};

// Reasons for which a row is left out, as reports and skipped.jsonl state them.
inline constexpr std::string_view does_not_parse = "it does not parse";
inline constexpr std::string_view long_completion = "the completion alone is longer than --max-tokens";
inline constexpr std::string_view long_signature = "signature and completion are longer than --max-tokens";
inline constexpr std::string_view special_token = "it contains a special token";
inline constexpr std::string_view unknown_name = "the completion uses a name that the prompt does not have";
inline constexpr std::string_view two_meanings = "a name has two meanings in it";
inline constexpr std::string_view common_hole = "more than 4 functions have an equal hole";
inline constexpr std::string_view no_code = "its body has no code, or is shorter than --shortest-completion";

// Empty where the kernel's text is not one valid function.
std::optional<KernelCode> kernel_code(const corpus::Unit& unit);

// What stands before and after the hole.
struct Surroundings {
  std::string before;
  std::string after;
};

struct Wanted {
  corpus::Span hole;           // in the kernel's text
  std::size_t tokens = 0;      // of everything, hole included
  bool with_launcher = false;  // after the kernel
  // The text from the hole's end to the kernel's end is not shown.
  bool ends_with_hole = false;
};

// The kernel with the hole, and as much context as fits, in this order: signature, decorators of Triton,
// imports, definitions that the hole uses (of one that does not fit, its signature), statements that bind
// names of the hole, the kernel's other statements from the hole outwards, definitions that they use, other
// decorators, the launcher with what it needs. The reason where not even the signature fits.
std::expected<Surroundings, std::string_view> surroundings(const corpus::Unit& unit, const KernelCode& kernel,
                                                           const Wanted& wanted);

}  // namespace kw::pairs
