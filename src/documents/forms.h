// A reader for each form. They are given UTF-8 within the bounds; indices are filled in by the caller.
#pragma once

#include <string_view>
#include <vector>

#include "documents/documents.h"

namespace kw::documents {

using CodeBlocks = std::vector<CodeBlock>;

Result<CodeBlocks> markdown_blocks(std::string_view text);
CodeBlocks rst_blocks(std::string_view text);
CodeBlocks html_blocks(std::string_view text);
Result<CodeBlocks> notebook_blocks(std::string_view text);

// Verbatim when the code is what the span holds.
CodeBlock block_of(std::string_view text, corpus::Span span, std::string language, std::string code);

}  // namespace kw::documents
