// For any bytes: no crash, spans lie within the document, and verbatim blocks equal their spans.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dataset/documents/documents.h"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

// The first byte selects the form.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto form = static_cast<kw::documents::Form>(data[0] % 4);
  auto found = kw::documents::code_blocks(form, text);
  if (!found) return 0;
  std::size_t index = 0;
  for (const kw::documents::CodeBlock& each : *found) {
    kw::corpus::Span span = each.block.span;
    must(each.block.index == index++);
    must(span.begin <= span.end && span.end <= text.size());
    must(each.block.verbatim == (text.substr(span.begin, span.end - span.begin) == each.code));
  }
  return 0;
}
