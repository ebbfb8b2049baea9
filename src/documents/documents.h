// Documents with code in them → code blocks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "corpus/place.h"

namespace kw::documents {

enum class Form { markdown, rst, html, notebook };

struct CodeBlock {
  corpus::Block block;
  std::string code;  // de-indented, unescaped
};

// By the file's name; nothing for what is no document.
std::optional<Form> form_of(std::string_view path);

// The code blocks in the order of the document. An error says why it cannot be read at all.
Result<std::vector<CodeBlock>> code_blocks(Form form, std::string_view bytes);

}  // namespace kw::documents
