// Rows of judged pairs of PyTorch or CUDA with Triton, such as `dataset synth` makes.
#include <fmt/format.h>

#include <algorithm>

#include "base/core/json.h"
#include "base/rows/rows.h"
#include "code/similarity/code_tokens.h"
#include "dataset/pairs/code_labels.h"
#include "dataset/pairs/difficulty.h"
#include "dataset/pairs/pairs.h"
#include "dataset/units/row.h"

namespace kw::pairs {
namespace {

struct Numbered {
  double number = 0;
  corpus::Row row;
};

corpus::Place judged_place(const std::filesystem::path& file, const std::string& path, std::size_t bytes) {
  corpus::Place place;
  place.origin.kind = corpus::OriginKind::pairs;
  place.origin.name = std::filesystem::absolute(file).parent_path().filename().string();
  place.path = path;
  place.span = {0, bytes};
  return place;
}

// The package or checkout that a side was taken from, where the line states it; else the line itself.
corpus::Place side_place(const boost::json::object& line, const char* key, corpus::Place otherwise) {
  const boost::json::object* stated = object_at(line, key);
  return stated == nullptr ? std::move(otherwise) : corpus::place_from_json(*stated);
}

corpus::Licence stated(const boost::json::object& line, const char* key, const std::filesystem::path& file) {
  auto spdx = string_at(line, key);
  return spdx ? corpus::Licence{.spdx = *spdx, .evidence = file.filename().string()} : corpus::Licence{};
}

// A CUDA side that no GPU has run has the description of the Triton side, or was chosen by hand for it:
// likely right, not known.
constexpr double unrun_confidence = 0.9;

// What the verifier found at other shapes than those of the reference's inputs; empty: it was not asked to
// try them.
std::string words_of_shapes(const boost::json::object& verdict) {
  const std::string shapes = string_at(verdict, "shapes").value_or("");
  if (shapes == "any") return "right at other shapes too";
  if (shapes == "given_only") return "right at the shapes of get_inputs only";
  return shapes.empty() ? "" : "no other shape could be tried";
}

// Makes the row one of CUDA and Triton, if the line has a CUDA side.
void take_cuda_side(corpus::Row& row, const boost::json::object& line) {
  auto cuda = string_at(line, "cuda_code");
  if (!cuda) return;
  const bool verified = bool_at(line, "cuda_verified").value_or(false);
  row.kind = corpus::RowKind::cu2triton;
  row.prompt = cuda_prompt(*cuda);
  row.source.span.end = cuda->size();
  row.source = side_place(line, "cuda_source", std::move(row.source));
  row.verdict["cuda_verified"] = verified;
  if (!verified) row.pair->confidence = unrun_confidence;
  row.pair->reasons.emplace_back(verified ? "CUDA side verified: correct" : "CUDA side not run");
}

Result<Numbered> judged_row(const std::filesystem::path& file, const table::TextRow& line) {
  const std::string id = string_at(line.rest, "id").value_or("");
  const auto* verdict = object_at(line.rest, "verdict");
  if (verdict == nullptr || !bool_at(*verdict, "correctness").value_or(false) ||
      !bool_at(*verdict, "counts").value_or(false))
    return fail(fmt::format("{}: the pair {} has no verdict that is correct and counts", file.string(), id),
                "give the pairs.jsonl of `dataset synth`");
  Numbered made;
  made.number = number_at(line.rest, "number").value_or(0);
  corpus::Row& row = made.row;
  row.kind = corpus::RowKind::torch2triton;
  row.prompt = torch_prompt(line.prompt);
  row.completion = line.completion;
  row.source = judged_place(file, id, line.prompt.size());
  row.licence = stated(line.rest, "licence", file);
  row.verdict = *verdict;
  row.labels = labels_of_code(row.completion);
  // The verifier compiles a kernel for sm_90 before it runs it.
  row.labels.compile = corpus::CompileLabel::compilable;
  row.labels.compiled_for = {"sm_90"};
  row.labels.self_contained = true;
  const std::string trust = string_at(*verdict, "trust").value_or("unknown");
  row.pair = corpus::PairEvidence{
      .confidence = 1,
      .reasons = {fmt::format("verified: correct, {}", trust)},
      .other = side_place(line.rest, "triton_source", judged_place(file, id, line.completion.size())),
      .other_licence = stated(line.rest, "triton_licence", file)};
  if (std::string words = words_of_shapes(*verdict); !words.empty()) row.pair->reasons.push_back(words);
  take_cuda_side(row, line.rest);
  if (auto origin = string_at(line.rest, "origin")) row.pair->reasons.push_back(*origin);
  // The id leads to the line with all of the pair.
  if (row.source.path != id) row.pair->reasons.push_back(fmt::format("pair {}", id));
  row.difficulty = difficulty_of(row.completion, harvest::Language::python);
  row.difficulty.autotune = row.labels.autotune;
  row.id = corpus::row_key(row.prompt, row.completion);
  row.renamed_sha1 = near::renamed_sha1(row.prompt + row.completion);
  row.unit = row.id;
  return made;
}

}  // namespace

std::filesystem::path judged_pairs_file(const std::string& folder) {
  std::error_code error;
  std::filesystem::path file = std::filesystem::path(folder).lexically_normal() / "pairs.jsonl";
  return std::filesystem::is_regular_file(file, error) ? file : std::filesystem::path();
}

Result<std::vector<corpus::Row>> judged_pairs(const std::filesystem::path& file) {
  table::ReadOptions options;
  options.prompt = "reference_code";
  options.completion = "kernel_code";
  auto lines = table::open_rows(file.string(), options);
  if (!lines) return std::unexpected(lines.error());
  std::vector<Numbered> all;
  while (true) {
    auto line = (*lines)->next();
    if (!line) return std::unexpected(line.error());
    if (!*line) break;
    const auto* read = std::get_if<table::TextRow>(&**line);
    if (read == nullptr)
      return fail(fmt::format("{} has a line that cannot be read", file.string()),
                  "give each line a reference_code and a kernel_code");
    auto made = judged_row(file, *read);
    if (!made) return std::unexpected(made.error());
    all.push_back(std::move(*made));
  }
  std::ranges::sort(all, {}, &Numbered::number);
  std::vector<corpus::Row> rows;
  for (Numbered& made : all) rows.push_back(std::move(made.row));
  return rows;
}

}  // namespace kw::pairs
