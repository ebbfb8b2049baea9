// Source files → units, with tree-sitter.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/place.h"
#include "corpus/unit.h"

namespace kw::harvest {

enum class Language { python, cuda, none };

// By ending: .py, .pyi; .cu, .cuh, and .h, .hpp, .cpp, .cc, .inl. Blocks of documents by their language, else
// by what they hold.
Language language_of(std::string_view path);
Language language_of(std::string_view block_language, std::string_view code);

// The byte pre-filter: false only where the file can hold no unit. Small modules of Python pass too, since
// units of other files may take helpers and constants from them.
bool may_matter(std::string_view bytes, Language language);

struct Options {
  std::size_t region_bytes = 6'000;  // of file around a unit, on each side at most
};

// What one file holds before names are looked up in others.
class ParsedFile;

struct ParseOutcome {
  std::shared_ptr<const ParsedFile> file;  // null where it cannot be parsed
  std::string reason;                      // then: "takes too long", "not UTF-8"
  bool has_error = false;                  // parts of it are no valid code
};

// May be called from several threads.
ParseOutcome parse(corpus::SourceFile file, Language language, const Options& options);

// The units of all files of one origin, in the order of the files and, within one, of the source. Imports
// from other files of the origin are followed: launches and helpers may lie there.
std::vector<corpus::Unit> link(const std::vector<std::shared_ptr<const ParsedFile>>& files);

}  // namespace kw::harvest
