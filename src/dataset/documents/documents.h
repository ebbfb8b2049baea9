// Extracts code blocks from documents, with one reader per form.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "dataset/units/unit.h"

namespace kw::documents {

// Extracts code blocks from documents.
enum class Form { markdown, rst, html, notebook };

struct CodeBlock {
  corpus::Block block;
  std::string code;  // de-indented, unescaped
};

// The form by the file's name; empty if the file is not a document.
std::optional<Form> form_of(std::string_view path);

// The code blocks in document order. An error states why the document is unreadable.
Result<std::vector<CodeBlock>> code_blocks(Form form, std::string_view bytes);

using CodeBlocks = std::vector<CodeBlock>;

// A reader for each form. The caller passes UTF-8 within the size limits, and sets the indices.
Result<CodeBlocks> markdown_blocks(std::string_view text);
CodeBlocks rst_blocks(std::string_view text);
CodeBlocks html_blocks(std::string_view text);
Result<CodeBlocks> notebook_blocks(std::string_view text);

// Verbatim if the code equals the bytes of the span.
CodeBlock block_of(std::string_view text, corpus::Span span, std::string language, std::string code);

// The offset of each line, and the text's size at the end. A line ends with LF, CR LF or CR.
std::vector<std::size_t> line_begins(std::string_view text);

// The line without its line break.
std::string_view line_at(std::string_view text, const std::vector<std::size_t>& begins, std::size_t number);

bool is_blank(std::string_view text);

// The leading spaces and tabs.
std::string_view indentation(std::string_view line);

}  // namespace kw::documents
