#include "dataset/synth/draft.h"

#include <fmt/format.h>

#include "base/core/json.h"
#include "dataset/units/row.h"

namespace kw::synth {
namespace json = boost::json;

const std::vector<std::string>& families_of(Source source) {
  static const std::vector<std::string> pytorch{
      "attention",   "batched_matmul", "broadcast",    "chained_matmul", "chunked_scan", "column_reduction",
      "convolution", "expert_matmul",  "gated_matmul", "gather",         "loss",         "low_rank",
      "matmul",      "movement",       "norm",         "pair_distances", "pointwise",    "quantised_matmul",
      "row_matmul",  "row_reduction",  "scan",         "softmax",        "split_matmul", "tiled_matmul"};
  static const std::vector<std::string> cuda{
      "arg_reduce",    "binary",         "broadcast",   "column_reduce", "concat",
      "cross_entropy", "depthwise_conv", "dequantize",  "dot_product",   "dropout",
      "embedding",     "gather",         "glu",         "group_norm",    "histogram",
      "l2_normalize",  "layer_norm",     "log_softmax", "logsumexp",     "masked_fill",
      "matmul",        "matvec",         "pad",         "pairwise",      "pool",
      "quantize",      "reorder",        "rms_norm",    "rotary",        "row_loss",
      "row_reduce",    "scan",           "scatter_add", "similarity",    "softmax",
      "stencil_1d",    "stencil_2d",     "ternary",     "transpose",     "unary",
      "upsample"};
  static const std::vector<std::string> named{"binary", "loss", "matrix", "row", "unary"};
  static const std::vector<std::string> mined{"activation", "attention", "cache",        "convolution",
                                              "embedding",  "loss",      "matmul",       "moe",
                                              "norm",       "optimizer", "quantization", "reduction",
                                              "rotary",     "sampling",  "softmax",      "state_space"};
  if (source == Source::named) return named;
  if (source == Source::mined) return mined;
  return source == Source::cuda ? cuda : pytorch;
}

namespace {

std::optional<corpus::Place> place_at(const json::object& object, const char* key) {
  const json::object* place = object_at(object, key);
  return place == nullptr ? std::nullopt : std::optional(corpus::place_from_json(*place));
}

}  // namespace

void add_sources(json::object& object, const Draft& draft) {
  if (draft.triton_source) object["triton_source"] = corpus::to_json(*draft.triton_source);
  if (draft.cuda_source) object["cuda_source"] = corpus::to_json(*draft.cuda_source);
}

json::object to_json(const Draft& draft) {
  json::object object{{"number", draft.number},     {"family", draft.family},
                      {"name", draft.name},         {"stage", draft.stage},
                      {"reason", draft.reason},     {"reference_code", draft.reference},
                      {"kernel_code", draft.kernel}};
  if (!draft.licence.empty()) object["licence"] = draft.licence;
  if (!draft.origin.empty()) object["origin"] = draft.origin;
  add_sources(object, draft);
  if (!draft.cuda_licence.empty()) object["cuda_licence"] = draft.cuda_licence;
  if (draft.cuda.empty()) return object;
  object["cuda_code"] = draft.cuda;
  object["cuda_candidate"] = draft.cuda_candidate;
  object["compared_text"] = draft.compared;
  return object;
}

std::optional<Draft> draft_from(const json::object& object) {
  auto number = number_at(object, "number");
  auto reference = string_at(object, "reference_code");
  if (!number || *number < 0 || !reference) return std::nullopt;
  return Draft{.number = static_cast<std::uint64_t>(*number),
               .family = string_at(object, "family").value_or(""),
               .name = string_at(object, "name").value_or(""),
               .reference = *reference,
               .kernel = string_at(object, "kernel_code").value_or(""),
               .cuda = string_at(object, "cuda_code").value_or(""),
               .cuda_candidate = string_at(object, "cuda_candidate").value_or(""),
               .licence = string_at(object, "licence").value_or(""),
               .cuda_licence = string_at(object, "cuda_licence").value_or(""),
               .origin = string_at(object, "origin").value_or(""),
               .triton_source = place_at(object, "triton_source"),
               .cuda_source = place_at(object, "cuda_source"),
               .compared = string_at(object, "compared_text").value_or(""),
               .stage = string_at(object, "stage").value_or(""),
               .reason = string_at(object, "reason").value_or("")};
}

Draft draft_of_answer(std::uint64_t number, const std::string& how, std::string_view answer) {
  Draft draft;
  draft.number = number;
  draft.stage = "compile";
  draft.reason = how;
  if (how != "answered") return draft;
  auto value = parse_json(answer);
  if (!value || !value->is_object()) {
    draft.reason = "no answer";
    return draft;
  }
  const json::object& object = value->get_object();
  draft.family = string_at(object, "family").value_or("");
  draft.name = string_at(object, "name").value_or("");
  draft.reference = string_at(object, "reference").value_or("");
  draft.kernel = string_at(object, "kernel").value_or("");
  draft.cuda = string_at(object, "cuda").value_or("");
  draft.cuda_candidate = string_at(object, "cuda_candidate").value_or("");
  draft.compared = string_at(object, "compared").value_or("");
  draft.licence = string_at(object, "licence").value_or("");
  draft.stage = draft.kernel.empty() ? string_at(object, "stage").value_or("compile") : "";
  draft.reason = draft.kernel.empty() ? string_at(object, "reason").value_or("no answer") : "";
  return draft;
}

std::string id_of(std::uint64_t seed, const Draft& draft) {
  if (!draft.cuda_licence.empty()) return fmt::format("mined-{}", draft.name);
  const std::string_view kind = !draft.origin.empty() ? "named-" : draft.cuda.empty() ? "" : "cuda-";
  return fmt::format("synth-{}{}-{}", kind, seed, draft.number);
}

std::string comparable_text(const Draft& draft) {
  if (!draft.compared.empty()) return draft.compared;
  std::string text = draft.reference.substr(0, draft.reference.find("\ndef get_inputs(")) + draft.kernel;
  if (draft.name.empty()) return text;
  for (std::size_t at = text.find(draft.name); at != std::string::npos; at = text.find(draft.name, at + 1))
    text.replace(at, draft.name.size(), "f");
  return text;
}

}  // namespace kw::synth
