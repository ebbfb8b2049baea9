#include "recipe/keys.h"

namespace kw::recipe {
namespace {

constexpr std::int64_t million = 1'000'000;
constexpr std::int64_t max_seed = 4'294'967'295;  // what every generator of random numbers takes

// Accessors as plain function pointers: KW_AT(lora.rank) is where a recipe keeps it.
#define KW_AT(member) ([](Recipe& recipe) -> auto& { return recipe.member; })

std::vector<Key> all_keys() {
  return {
      {"quantisation", "type", Choice{KW_AT(quantisation.type), {"nf4", "none"}}},
      {"quantisation", "double", Flag{KW_AT(quantisation.doubled)}},
      {"quantisation", "compute", Choice{KW_AT(quantisation.compute), {"bf16", "fp16", "fp32"}}},
      {"lora", "rank", Whole{KW_AT(lora.rank), 1, 1024}},
      {"lora", "alpha", Whole{KW_AT(lora.alpha), 1, 65536}},
      {"lora", "dropout", Real{KW_AT(lora.dropout), 0, 1, false, true}},
      {"lora", "bias", Choice{KW_AT(lora.bias), {"none", "all", "lora_only"}}},
      {"lora", "targets", Names{KW_AT(lora.targets)}},
      {"data", "max_length", Whole{KW_AT(data.max_length), 8, million}},
      {"data", "packing", Flag{KW_AT(data.packing)}},
      {"data", "too_long", Choice{KW_AT(data.too_long), {"cut", "drop"}}},
      {"data", "loss", Choice{KW_AT(data.loss), {"completion", "all"}}},
      {"data", "template", Choice{KW_AT(data.chat), {"auto", "none"}}},
      {"data", "shuffle", Flag{KW_AT(data.shuffle)}},
      {"training", "epochs", Whole{KW_AT(training.epochs), 1, 10000}},
      {"training", "micro_batch", Whole{KW_AT(training.micro_batch), 1, 65536}},
      {"training", "accumulation", Whole{KW_AT(training.accumulation), 1, 65536}},
      {"training", "learning_rate", Real{KW_AT(training.learning_rate), 0, 1, true}},
      {"training", "schedule", Choice{KW_AT(training.schedule), {"cosine", "linear", "constant"}}},
      {"training", "warmup", Real{KW_AT(training.warmup), 0, million}},
      {"training", "optimiser", Choice{KW_AT(training.optimiser), {"adamw_torch_fused", "adamw_torch"}}},
      {"training", "beta1", Real{KW_AT(training.beta1), 0, 1, false, true}},
      {"training", "beta2", Real{KW_AT(training.beta2), 0, 1, false, true}},
      {"training", "epsilon", Real{KW_AT(training.epsilon), 0, 1, true}},
      {"training", "weight_decay", Real{KW_AT(training.weight_decay), 0, 1}},
      {"training", "clip", Real{KW_AT(training.clip), 0, million}},
      {"training", "seed", Whole{KW_AT(training.seed), 0, max_seed}},
      {"training", "gradient_checkpointing", Flag{KW_AT(training.gradient_checkpointing)}},
      {"training", "precision", Choice{KW_AT(training.precision), {"bf16", "fp16", "fp32"}}},
      {"training", "attention", Choice{KW_AT(training.attention), {"sdpa", "varlen", "eager"}}},
      {"training", "kernels", Choice{KW_AT(training.kernels), {"none", "liger"}}},
      {"training", "save_every", Whole{KW_AT(training.save_every), 1, 1000 * million}},
      {"training", "keep", Whole{KW_AT(training.keep), 1, million}},
      {"training", "log_every", Whole{KW_AT(training.log_every), 1, million}},
  };
}

#undef KW_AT

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> all = all_keys();
  return all;
}

}  // namespace kw::recipe
