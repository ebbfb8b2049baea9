// Fill-in rows: the hole of a prompt, the question to a model in the form that was trained, the text of an
// answer, and checks of the source with its hole filled.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/units/unit.h"
#include "loop/model_client/chat.h"
#include "score/report/output.h"

namespace kw::scoring {

// The hole of a row: by the special tokens in its prompt, else, for rows of the kind "fim", and for rows
// without a kind whose prompt ends with the signature of a kernel, the end of the prompt ("body" rows). Empty
// for other rows.
std::optional<Hole> hole_of(const boost::json::object& row, std::string_view prompt);

// The prompt unchanged, as in training, with the words that end a hole.
llm::Continuation continuation_of(const Hole& hole, std::string prompt);

// The question to a server without /completions.
std::string chat_prompt_of(const Hole& hole);

// The text of the hole in an answer: without the fence around it that the reference lacks, and up to the
// first special token.
std::string hole_text(std::string_view answer, std::string_view reference);

// The static checks of an answer that fills its hole; empty if they do not apply: CUDA, or a region that
// does not parse with the reference in its hole. The facts are those of the kernel around the hole. What the
// kernel lacks with the reference too is no fault of the answer.
std::optional<StaticFacts> check_hole(const Output& output);

// The kernels around a filled hole, or the reason why they cannot compile.
struct FilledKernels {
  std::vector<corpus::Unit> kernels;
  std::string why_not;
};

// Empty where check_hole() is.
std::optional<FilledKernels> kernels_with_hole(const Output& output);

}  // namespace kw::scoring
