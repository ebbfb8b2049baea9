// Recipe: the parameters of a training. It includes every number that affects the result, so that none
// depends on a library's current default.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw::recipe {

// The frozen base model.
struct Quantisation {
  std::string type = "nf4";      // of its weights; "none": not quantised
  bool doubled = false;          // "double": the scales are quantised too
  std::string compute = "bf16";  // the type in which quantised weights are multiplied
};

// The trained matrices: W + alpha / rank · B A for each target.
struct Lora {
  std::int64_t rank = 32;
  std::int64_t alpha = 32;
  double dropout = 0.05;  // share of the adapter's inputs that is zeroed
  std::string bias = "none";
  std::vector<std::string> targets = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                      "gate_proj", "up_proj", "down_proj"};
  // Of the matrices and of the optimiser's states. In bf16 an update below 1/256 of a weight is lost.
  std::string adapter_dtype = "fp32";
};

struct Data {
  std::int64_t max_length = 1024;  // tokens of a sequence
  bool packing = true;             // several rows in one sequence, without attention between them
  std::string too_long = "cut";
  std::string loss = "completion";
  std::string chat = "auto";  // "template"
  bool shuffle = true;
};

struct Training {
  std::int64_t epochs = 1;
  std::int64_t micro_batch = 1;    // sequences per pass
  std::int64_t accumulation = 16;  // passes per step
  double learning_rate = 1e-4;
  std::string schedule = "cosine";
  double warmup = 0.02;  // below 1: a share of the steps; else a number of steps
  std::string optimiser = "adamw_torch_fused";
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double clip = 1;  // the maximum norm of the gradients; 0: no limit
  std::int64_t seed = 42;
  bool gradient_checkpointing = true;
  std::string precision = "bf16";
  std::string attention = "sdpa";
  std::string kernels = "none";
  std::int64_t save_every = 200;  // steps
  std::int64_t keep = 2;          // checkpoints
  std::int64_t log_every = 1;     // steps
  // With validation rows: steps between held-out losses, and how many in a row without a better one end the
  // training; 0: none do.
  std::int64_t validate_every = 50;
  std::int64_t patience = 3;
};

struct Recipe {
  Quantisation quantisation;
  Lora lora;
  Data data;
  Training training;
};

}  // namespace kw::recipe
