// Extracts units from source files with tree-sitter, and finds parts of a function's body that can be holes
// of fill-in-the-middle rows.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/units/unit.h"

namespace kw::harvest {

// Extracts units from source files with tree-sitter.
enum class Language { python, cuda, none };

// The language by the extension: .py, .pyi; .cu, .cuh, and .h, .hpp, .cpp, .cc, .inl. For blocks of
// documents by their language, else by their content.
Language language_of(std::string_view path);
Language language_of(std::string_view block_language, std::string_view code);

// A filter on bytes: false only if the file cannot contain a unit. Small Python modules pass too, since
// units of other files may use their helpers and constants.
bool may_matter(std::string_view bytes, Language language);

struct Options {
  std::size_t region_bytes = 6'000;  // of file around a unit, on each side at most
};

// The parsed content of one file, before names are resolved in other files.
class ParsedFile;

struct ParseOutcome {
  std::shared_ptr<const ParsedFile> file;  // null where it cannot be parsed
  std::string reason;                      // then: "takes too long", "not UTF-8"
  bool has_error = false;                  // parts of it are no valid code
  std::vector<std::string> lost;  // CUDA kernels that are no units: "line 12: its code does not parse"
};

// May be called from several threads.
ParseOutcome parse(corpus::SourceFile file, Language language, const Options& options);

// The units of all files of one origin, in the order of the files and, within a file, of the source. Follows
// imports from other files of the origin, which may contain launches and helpers.
std::vector<corpus::Unit> link(const std::vector<std::shared_ptr<const ParsedFile>>& files);

// Parts of a function's body that can be holes of fill-in-the-middle rows.
struct HoleSpan {
  std::string node;     // "block", "expression", "call"
  corpus::Span middle;  // in the region
};

// Candidates inside the body of the function that spans `function` of the region, decorators and signature
// left out, in the order of the source (an outer one before those in it) and each span once: "block" for
// whole bodies of for, if, while and with, and for runs of statements (whole lines without the last newline);
// "expression" for right sides of assignments and returned values; "call" for calls. Excludes trivial ones: a
// name or a number alone. Empty where the function cannot be parsed.
std::vector<HoleSpan> hole_spans(std::string_view region, corpus::Span function, Language language);

}  // namespace kw::harvest
