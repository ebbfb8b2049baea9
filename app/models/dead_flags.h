// Flags of `vllm serve` that once were and are no more.
#pragma once

#include <string_view>

namespace kw::models {

struct DeadFlag {
  std::string_view flag;
  std::string_view instead;
};

// Known to vLLM 0.6 to 0.12, refused by the version that table.h names.
inline constexpr std::string_view without = "leave it out";
inline constexpr std::string_view in_speculative = "say it in --speculative-config '{...}'";
inline constexpr DeadFlag dead_flags[] = {
    {"--enable-reasoning", "leave it out: --reasoning-parser alone is enough"},
    {"--use-v2-block-manager", without},
    {"--num-scheduler-steps", without},
    {"--multi-step-stream-outputs", without},
    {"--num-lookahead-slots", without},
    {"--scheduler-delay-factor", without},
    {"--preemption-mode", without},
    {"--swap-space", without},
    {"--max-num-partial-prefills", without},
    {"--max-long-partial-prefills", without},
    {"--disable-async-output-proc", without},
    {"--disable-frontend-multiprocessing", without},
    {"--disable-log-requests", "leave it out: requests are logged only with --enable-log-requests"},
    {"--device", without},
    {"--task", "leave it out to generate; otherwise --runner or --convert"},
    {"--worker-use-ray", "--distributed-executor-backend ray"},
    {"--engine-use-ray", without},
    {"--tokenizer-pool-size", without},
    {"--tokenizer-pool-type", without},
    {"--tokenizer-pool-extra-config", without},
    {"--logits-processor-pattern", without},
    {"--calculate-kv-scales", without},
    {"--rope-scaling", "--hf-overrides '{\"rope_scaling\": ...}'"},
    {"--rope-theta", "--hf-overrides '{\"rope_theta\": ...}'"},
    {"--max-seq-len-to-capture", "--max-cudagraph-capture-size"},
    {"--max-context-len-to-capture", "--max-cudagraph-capture-size"},
    {"--cuda-graph-sizes", "--cudagraph-capture-sizes"},
    {"--guided-decoding-backend", "--structured-outputs-config '{\"backend\": ...}'"},
    {"--guided-decoding-disable-fallback", "--structured-outputs-config"},
    {"--guided-decoding-disable-any-whitespace", "--structured-outputs-config"},
    {"--guided-decoding-disable-additional-properties", "--structured-outputs-config"},
    {"--disable-mm-preprocessor-cache", "--mm-processor-cache-gb 0"},
    {"--enable-lora-bias", without},
    {"--lora-extra-vocab-size", without},
    {"--long-lora-scaling-factors", without},
    {"--qlora-adapter-name-or-path", without},
    {"--enable-prompt-adapter", without},
    {"--prompt-adapters", without},
    {"--max-prompt-adapters", without},
    {"--max-prompt-adapter-token", without},
    {"--override-neuron-config", "--additional-config"},
    {"--override-pooler-config", "--pooler-config"},
    {"--num-redundant-experts", "--eplb-config"},
    {"--speculative-model", in_speculative},
    {"--num-speculative-tokens", in_speculative},
    {"--speculative-model-quantization", in_speculative},
    {"--speculative-draft-tensor-parallel-size", in_speculative},
    {"--speculative-max-model-len", in_speculative},
    {"--speculative-disable-by-batch-size", in_speculative},
    {"--speculative-disable-mqa-scorer", in_speculative},
    {"--ngram-prompt-lookup-max", in_speculative},
    {"--ngram-prompt-lookup-min", in_speculative},
    {"--spec-decoding-acceptance-method", in_speculative},
};

}  // namespace kw::models
