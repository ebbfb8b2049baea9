// Any bytes as a Python file and as a CUDA file: parsed, linked, and cut into holes.
#include <cstddef>
#include <cstdint>
#include <string>

#include "dataset/extract/harvest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kw::harvest::Language;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (Language language : {Language::python, Language::cuda}) {
    kw::corpus::SourceFile file;
    file.path = language == Language::python ? "a.py" : "a.cu";
    file.bytes = bytes;
    auto outcome = kw::harvest::parse(std::move(file), language, {});
    if (!outcome.file) continue;
    for (const kw::corpus::Unit& unit : kw::harvest::link({outcome.file})) {
      std::size_t begin = unit.source.span.begin - unit.region_begin;
      kw::harvest::hole_spans(unit.region, {begin, begin + unit.text.size()}, language);
    }
  }
  return 0;
}
