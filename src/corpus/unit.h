// A unit: one function or class of the corpus with what is needed to understand it.
#pragma once

#include <string>
#include <vector>

#include "corpus/place.h"

namespace kw::corpus {

enum class UnitKind { triton, cuda_kernel, cuda_device, torch };

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
  std::string caller;       // the function it stands in; empty at top level
  std::string caller_text;  // that function's source; empty at top level
  std::string grid;         // as written
  std::vector<Argument> arguments;
};

struct Unit {
  std::string id;  // SHA-1 over origin name, path, block, span and text
  UnitKind kind = UnitKind::triton;
  std::string name;
  Place place;  // its span is that of `text`
  Licence licence;

  std::string text;                 // decorators to the end of the body, as in the file
  std::size_t signature_bytes = 0;  // text up to here is decorators and signature, the rest is the body
  std::string region;               // a contiguous piece of the file around the text, whole lines
  std::size_t region_begin = 0;     // of the region, in the bytes that place.span counts

  // What the text needs to stand alone, in an order that can be executed: imports, constants, helpers with
  // their own needs. Pieces of other files of the same origin may be among it.
  std::string context;
  std::vector<std::string>
      context_licences;                 // SPDX of other files that the context was taken from, each once
  std::vector<std::string> helpers;     // names of functions in the context
  std::vector<std::string> missing;     // names that nothing in the origin defines
  std::vector<std::string> decorators;  // as written
  std::vector<Parameter> parameters;
  std::vector<Launch> launches;
  std::vector<std::string> calls;  // names that the text calls, sorted, each once
  std::string doc;                 // docstring, or the comment that stands before it
};

}  // namespace kw::corpus
