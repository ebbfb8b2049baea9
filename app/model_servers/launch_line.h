// Static checks of a command line that starts a vLLM server: removed flags, and the reasoning parser of each
// model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw::models {

// Removed flags of `vllm serve`.
struct DeadFlag {
  std::string_view flag;
  std::string_view instead;
};

// vLLM 0.6 to 0.12 had these flags; the version in table.h refuses them.
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

// A conversation of several turns rarely fits a smaller context: the system prompt takes about 2,000 tokens,
// a task up to 8,000, and an answer with its reasoning another 8,000.
inline constexpr std::uint64_t least_context_tokens = 16384;

struct LaunchFinding {
  bool fatal = false;  // the server does not start
  std::string what;
  std::string remedy;
};

// `text` is a command line or a complete shell script. Returns an empty list if no problem was found.
std::vector<LaunchFinding> examine_launch(std::string_view text);

// The words of those commands that start vLLM, or of all commands if none clearly does. Handles quotes and
// continued lines, but not variables.
std::vector<std::string> launch_words(std::string_view text);

// The reasoning parser of each model.
struct ReasoningParser {
  std::string name;        // the value of vLLM's --reasoning-parser
  bool automatic = false;  // vLLM selects it by default
};

// Looks up the model's name, ignoring case and folder; empty for unknown models and models without
// reasoning.
std::optional<ReasoningParser> reasoning_parser_of(std::string_view model);

}  // namespace kw::models
