// Where a piece of the corpus comes from, and under which licence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace kw::corpus {

// Bytes [begin, end) of a file.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const Span&) const = default;
};

enum class OriginKind { folder, git, wheel, sdist, archive, run, pairs };

// One tree: a checkout, a package, a folder, a run.
struct Origin {
  OriginKind kind = OriginKind::folder;
  std::string name;     // "flag-gems"; a folder's or a repository's name
  std::string version;  // of a package; empty where there is none
  std::string commit;   // of a checkout
  std::string sha256;   // of the archive it came in
  std::string url;      // where it was published, if the tree says
  std::optional<std::int64_t> stars;
};

// An SPDX expression and what says so. Empty spdx: unknown.
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

}  // namespace kw::corpus
