// Units: functions and classes of the corpus with the code that they need, their origins and their licences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/words.h"

namespace kw::corpus {

// Bytes [begin, end) of a file.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const Span&) const = default;
};

BOOST_DEFINE_ENUM_CLASS(OriginKind, folder, git, wheel, sdist, archive, run, pairs)

// One tree: a checkout, a package, a folder, a run.
struct Origin {
  OriginKind kind = OriginKind::folder;
  std::string name;     // "flag-gems"; a folder's or a repository's name
  std::string version;  // of a package; empty where there is none
  std::string commit;   // of a checkout
  std::string sha256;   // of the archive it came in
  std::string url;      // where it was published, if the tree states it
  std::optional<std::int64_t> stars;
};

// An SPDX expression and its evidence. Empty spdx: unknown.
struct Licence {
  std::string spdx;      // "Apache-2.0", "MIT OR Apache-2.0"
  std::string evidence;  // "SPDX tag, line 1", "LICENSE", "METADATA: License-Expression"
};

// A code block of a document: its bytes are the document's unless an escape had to be undone.
struct Block {
  std::size_t index = 0;  // from 0
  std::string language;   // as the document names it
  Span span;              // in the document
  bool verbatim = true;   // the block's bytes are those of the span
};

// A piece of a file. Spans count the file's bytes; in a block that is not verbatim, the block's own.
struct Place {
  Origin origin;
  std::string path;  // within the origin, with '/'
  std::optional<Block> block;
  Span span;
};

// A source file, or a code block of a document.
struct SourceFile {
  Origin origin;
  std::string path;
  std::optional<Block> block;
  std::string bytes;
  Licence licence;
};

// A unit: one function or class of the corpus with the code that it needs.
BOOST_DEFINE_ENUM_CLASS(UnitKind, triton, cuda_kernel, cuda_device, torch)

struct Parameter {
  std::string name;
  std::string annotation;  // as written; of CUDA the type
  std::string preset;      // the default as written; empty: none
  bool is_constexpr = false;
};

struct Argument {
  std::string name;  // of a keyword argument; empty: by position
  std::string text;  // as written
};

// A call of the kernel: kernel[grid](...) or kernel<<<...>>>(...).
struct Launch {
  std::string caller;       // the enclosing function; empty at top level
  std::string caller_text;  // that function's source; empty at top level
  std::string grid;         // as written
  std::vector<Argument> arguments;
};

// The function at module level that launches a kernel, and the code that the two need together.
struct Launcher {
  std::string text;         // empty: no such function
  std::string context;      // as Unit::context, without kernel and launcher
  std::string own_imports;  // as Unit::own_imports
  std::vector<std::string> context_licences;
};

struct Unit {
  std::string id;  // SHA-1 over origin name, path, block, span and text
  UnitKind kind = UnitKind::triton;
  std::string name;
  Place source;  // its span is that of `text`
  Licence licence;

  std::string text;                 // decorators to the end of the body, as in the file
  std::size_t signature_bytes = 0;  // text up to here is decorators and signature, the rest is the body
  std::string region;               // a contiguous piece of the file around the text, whole lines
  std::size_t region_begin = 0;     // of the region, in the bytes that place.span counts

  // The code that makes the text self-contained, in an executable order: imports, constants, helpers and
  // their needs. May include pieces of other files of the same origin.
  std::string context;
  // Lines with which the files import, from other modules of the origin, what text and context use. Each
  // binds another name.
  std::string own_imports;
  std::vector<std::string> context_licences;  // SPDX of the other files in the context, each once
  std::vector<std::string> helpers;           // names of functions in the context
  std::vector<std::string> missing;           // names that nothing in the origin defines
  std::vector<std::string> decorators;        // as written
  std::vector<Parameter> parameters;
  std::vector<Launch> launches;
  std::vector<std::string> calls;  // names that the text calls, sorted, each once
  std::string doc;                 // docstring, or the comment before it

  Launcher launcher;
  std::string generator;                // the program that made the file, as its head says; empty: says none
  std::vector<std::string> provenance;  // "Adapted from https://...", of the file's head or of the unit
};

}  // namespace kw::corpus
