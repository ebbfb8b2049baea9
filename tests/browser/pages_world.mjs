// A world for the tests of overview, evidence, compare and data set: two runs of the same tasks on a GPU, verdicts of
// `verify`, and a data set. All numbers follow from a generator with a fixed seed.

function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const CODE = `import torch
import triton
import triton.language as tl


@triton.jit
def relu_sum_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = tl.load(y_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + at, tl.maximum(x + y, 0.0), mask=mask)
`;

const WRONG = ["compile_error", "wrong_value", "wrong_value", "out_of_bounds", "runtime_error", "timeout", "nonfinite", "wrong_shape"];

export function sampleEvidence({ passed = true } = {}) {
  const random = generator(passed ? 5 : 6);
  const outputs = (error) => [
    { output: "output", dtype: "float32", shape: [4096, 4096], max_abs_error: error * 1e-4, max_rel_error: error * 2e-4, mismatched_share: error > 1 ? 0.25 : 0, rtol: 1e-4, atol: 1e-4, max_error_over_limit: error, reference_loss: 2.1e-7 },
  ];
  const trials = Array.from({ length: 14 }, (_, index) => {
    const error = passed ? 10 ** (-3 + 2.6 * random()) : 10 ** (-1 + 3 * random());
    return {
      index,
      path: index < 5 ? "call" : "replay",
      purpose: index < 5 ? "correctness" : index === 5 ? "recording" : index < 12 ? "timing" : "audit",
      inputs: ["given", "zeros", "large values"][index % 3],
      weights: "automatic",
      recording: index < 5 ? null : 0,
      passed: error <= 1,
      error_class: error <= 1 ? null : "wrong_value",
      max_abs_error: error * 1e-4,
      max_rel_error: error * 2e-4,
      mismatched_share: error > 1 ? 0.25 : 0,
      max_error_over_limit: index === 3 && !passed ? "inf" : error,
      outputs: outputs(error),
      outputs_left_out: 0,
    };
  });
  return {
    schema: "kernelwright.evidence/1",
    inputs: ["given", "zeros", "large values"].map((family) => ({ family, tensors: [{ name: "x", dtype: "float32", shape: [4096, 4096] }, { name: "y", dtype: "float32", shape: [4096, 4096] }], tensors_left_out: 0 })),
    moved_bytes: 3 * 4096 * 4096 * 4,
    trials,
    trials_left_out: 2,
    first_mismatch: passed
      ? null
      : {
          trial: 1,
          output: "output",
          index: [0, 130],
          expected: 1.4,
          actual: 0.5,
          neighbours: Array.from({ length: 9 }, (_, i) => ({ index: [0, 126 + i], expected: 1 + i / 10, actual: i === 6 ? "nan" : i < 2 ? 1 + i / 10 : 0.3 + i / 20, wrong: i >= 2 })),
          expected_values: { min: 0, max: 6.21, nan_count: 0, infinite_count: 0 },
          actual_values: { min: 0, max: 4.4, nan_count: 12, infinite_count: 0 },
        },
    launches: [
      { recording: 0, position: 0, stream: 0, source: "replay", name: "relu_sum_kernel", whose: "candidate", grid: [16384, 1, 1], block: [128, 1, 1], start_ms: 0, time_ms: 0.031 },
      { recording: 0, position: 1, stream: 1, source: "replay", name: "void cublasLt::splitKreduce_kernel<32, 16, int, float, float>", whose: "library", grid: [64, 1, 1], block: [256, 1, 1], start_ms: 0.004, time_ms: 0.012 },
      { recording: 0, position: 2, stream: 0, source: "replay", name: "bias_kernel", whose: "candidate", grid: [128, 1, 1], block: [128, 1, 1], start_ms: 0.034, time_ms: 0.009 },
      { recording: 0, position: 3, stream: 0, source: "replay", name: "memcpy", whose: null, grid: [], block: [], start_ms: 0.044, time_ms: 0.003 },
    ],
    launches_left_out: 0,
    decoys: [
      { name: "without_launches", outcome: "wrong" },
      { name: "without_own_launches", outcome: "not_run" },
    ],
    certificate: { input_sets: 5, answers: [{ name: "zeros", passes: false }, { name: "constant", passes: false }, { name: "echo", passes: false }, { name: "stale", passes: !passed }] },
    audits: [{ name: "unrecorded_calls", outcome: "right", trials: 3 }, { name: "kept_result", outcome: "right", trials: 1 }],
    clock_check: { calls: 200, device_ms: 0.0461, device_source: "replay", supervisor_ms: 0.0473, tolerated_ms: 0.0876 },
  };
}

export function sampleVerdict({ status = "correct", speedup = 1.84, evidence = null, ...further } = {}) {
  const random = generator(9);
  const right = status === "correct";
  const kernel = 0.0461;
  const samples = (middle) => Array.from({ length: 42 }, () => middle * (0.985 + 0.03 * random() + (random() > 0.95 ? 0.05 : 0)));
  return {
    schema: "kernelwright.verdict/1",
    id: "relu_sum",
    task_id: "sample/relu_sum",
    sample_number: 0,
    candidate_sha256: "2732ecdd44b78f06e7a05228ea70c85167674d755f63e52d345177d86d63d3df",
    work: "604f03ca6c2e50efc13381583f0a51071f923c1b213c78a0bf71990e9522dddb",
    kernel_name: null,
    status,
    correctness: right,
    stage: right ? "done" : "judge",
    fault: right ? null : "kernel",
    error: right ? null : "output: 12578241 of 16777216 values differ (75.0%); first at [0, 2]: expected 1.13181, got 0.308028",
    error_class: right ? null : "wrong_value",
    error_detail: null,
    speedup: right ? speedup : null,
    reference_time_ms: right ? kernel * speedup : null,
    kernel_time_ms: right ? kernel : null,
    counts: right ? true : null,
    counts_reason: null,
    shapes: "given",
    trust: "replay",
    isolation: { level: "full", layers: ["mount_ns", "pid_ns", "net_ns", "ipc_ns", "uts_ns", "root", "uid", "no_new_privs", "landlock", "rlimits", "seccomp"] },
    comparison: { tolerance: { name: "kernelbench", rtol: 1e-4, atol: 1e-4 }, trials: 14, max_abs_error: 1.9e-6, max_rel_error: 5.4e-4, mismatched_share: 0, first_mismatch: right ? null : { output: "output", index: [0, 2], expected: 1.1318, actual: "nan" }, findings: ["the output's strides differ from the reference's"] },
    timing: right
      ? {
          instrument: "replay",
          reference_samples_ms: samples(kernel * speedup),
          kernel_samples_ms: samples(kernel),
          reference_median_ms: kernel * speedup,
          kernel_median_ms: kernel,
          reference_interval_ms: [kernel * speedup * 0.995, kernel * speedup * 1.005],
          kernel_interval_ms: [kernel * 0.994, kernel * 1.006],
          floor_ms: 0.00128,
          call_speedup: 1.12,
          compile_time_ms: kernel * 1.3,
          roofline_share: 0.91,
          clocks: { sm_mhz: 1980, memory_mhz: 3201, throttle: null },
          why_null: null,
        }
      : { instrument: null, reference_samples_ms: [], kernel_samples_ms: [], floor_ms: null, why_null: "the candidate was not timed" },
    launches: [{ name: "relu_sum_kernel", whose: "candidate", cubin_sha256: "7c99c1d85dd271102a58aa45cd52eb288dd8fbf1f20d385ab3bc0aab5d47b476", grid: [48, 1, 1], block: [128, 1, 1], registers: 18, spills: 0, shared_bytes: 1024, time_ms: 0.031 }],
    triton_share: 0.78,
    device_time_share: { triton: 0.78, native: 0, library: 0.22, unattested: 0 },
    replay: { recordings: 2, operations: 4, streams: 2, downloads: 0, unjoined: 0, orders: 1, why_not: null },
    call: { entry: "triton_kernel_wrapper", convention: "wrapper", arguments: ["x=input:0", "y=input:1"], weights: "none" },
    environment: { gpu: "NVIDIA H200", driver: "580.159.04", cuda: "13.0", torch: "2.11.0+cu130", triton: "3.6.0", program_version: "0.9.0", protocol: "dbd0c1b5fcef8857" },
    stages_ms: { static: 0.8, prepare: 3318, import: 4.5, run: 138.7, record: 6.7, replay: 59.9, judge: 12.9, time: 144.6 },
    printed: null,
    evidence,
    ...further,
  };
}

const EXPLAINED = { sentence: "Its output differs from the reference's.", error: "output: 75.0% of values differ", notes: [], help: "Compare the values around the first difference.", place: null };

/** Two runs of `tasks` tasks with `samples` samples and up to four turns each, 8 verdicts, 30 rows of a data set. */
export function pagesWorld({ tasks = 60, samples = 2, gpu = true, compile = true } = {}) {
  const random = generator(42);
  const rows = [];
  const turns = [];
  const details = {};
  const common = { task_source: "KernelBench", gpu: gpu ? "NVIDIA H200" : null, protocol: "dbd0c1b5fcef8857", trust: gpu ? "replay" : "interpreter", instrument: gpu ? "replay" : null, clock_sm_mhz: gpu ? 1980 : null, tolerance: "kernelbench", dtype: "float32", torch: "2.11.0+cu130", triton: "3.6.0", shapes: "given" };
  for (const source of [0, 1])
    for (let task = 0; task < tasks; ++task)
      for (let sample = 0; sample < samples; ++sample) {
        const hard = (task * 7919) % 100;
        const chance = (source === 0 ? 0.25 : 0.38) * (1.35 - hard / 100);
        const key = `s${source}-${String(task).padStart(3, "0")}-${sample}`;
        const row = { source, kind: "trace", key, task_id: `kernelbench/level${1 + (task % 3)}/${task}`, name: `${task}_${["matmul", "softmax", "layernorm", "conv2d_relu_bias_and_a_long_name", "gelu"][task % 5]}`, level: 1 + (task % 3), model: source === 0 ? "qwen3-coder-30b" : "kernel-adapter", sample_number: sample, licence: "MIT", ...common };
        let final = null;
        const list = [];
        for (let turn = 1; turn <= 4; ++turn) {
          const infrastructure = random() < 0.01;
          const right = !infrastructure && random() < chance;
          const decoy = right && random() < 0.04;
          const speedup = right && gpu ? Math.exp((random() - 0.4) * 2.4) : null;
          const error = right ? null : infrastructure ? "infrastructure" : WRONG[Math.floor(random() * WRONG.length)];
          const one = { row: rows.length, round: 1, turn, status: infrastructure ? "error" : right ? "correct" : ["wrong_value", "nonfinite", "wrong_shape"].includes(error) ? "incorrect" : "failed", standing: infrastructure ? "unknown" : right && !decoy ? "right" : "wrong", counts_reason: decoy ? "library_only" : null, error_class: error, fault: infrastructure ? "infrastructure" : right ? null : "kernel", speedup, prompt_tokens: 900 + turn * 700, completion_tokens: Math.round(300 + random() * 900), reasoning_tokens: source === 0 ? 0 : Math.round(random() * 600), generation_ms: 4000 + random() * 9000, judge_ms: 300 + random() * 900 };
          turns.push(one);
          list.push({ ...one, counts: right ? !decoy : null });
          if (!final || (one.standing === "right" && final.standing !== "right")) final = list.at(-1);
          if (one.standing === "right") break;
        }
        const { speedup } = final;
        Object.assign(row, { status: final.status, standing: final.standing, counts: final.counts, counts_reason: final.counts_reason, error_class: final.error_class, fault: final.fault, speedup, speedup_low: speedup && speedup * 0.97, speedup_high: speedup && speedup * 1.03, compile_speedup: speedup && compile ? speedup * 0.7 : null, turns: list.length, stop_reason: final.standing === "right" ? "success" : "max_turns_reached", evidence: true });
        for (const column of ["prompt_tokens", "completion_tokens", "reasoning_tokens", "generation_ms", "judge_ms"]) row[column] = list.reduce((sum, one) => sum + one[column], 0);
        rows.push(row);
        const verdict = (one) => sampleVerdict({ status: one.status === "correct" ? "correct" : "incorrect", speedup: one.speedup ?? 1, evidence: sampleEvidence({ passed: one.status === "correct" }) });
        if (task < 3)
          details[key] = {
            kind: "trace",
            key,
            trace: { sample_key: key, source: "kernelbench", level: row.level, name: row.name, task_id: row.task_id, pytorch_code: "import torch\n", prompt: [{ role: "user", content: "Write a Triton kernel." }], final_triton_code: CODE, final_turn: list.length, turns: list.map((one) => ({ turn: one.turn, reasoning: null, triton_code: CODE, full_completion: CODE, result: verdict(one), feedback_given: null })), stop_reason: row.stop_reason },
            explained: list.map((one) => (one.status === "correct" ? null : EXPLAINED)),
          };
      }
  const verdicts = [
    ["right", { evidence: sampleEvidence() }],
    ["wrong", { status: "incorrect", evidence: sampleEvidence({ passed: false }) }],
    ["old", {}],
    ["library", { counts: false, counts_reason: "library_only", evidence: sampleEvidence() }],
  ];
  for (const [key, options] of verdicts) {
    const verdict = sampleVerdict(options);
    const standing = verdict.status === "correct" && verdict.counts ? "right" : "wrong";
    rows.push({ source: 2, kind: "verdict", key: `v-${key}`, task_id: `sample/${key}`, name: key, ...common, status: verdict.status, standing, counts: verdict.counts, counts_reason: verdict.counts_reason, error_class: verdict.error_class, fault: verdict.fault, speedup: gpu ? verdict.speedup : null, evidence: verdict.evidence !== null, judge_ms: 500 });
    details[`v-${key}`] = { kind: "verdict", key: `v-${key}`, verdict, reference_code: "import torch\n", kernel_code: CODE, explained: standing === "right" ? null : EXPLAINED };
  }
  for (let i = 0; i < 30; ++i) {
    const key = `d-${i}`;
    const twin = i % 6 === 5;
    rows.push({ source: 3, kind: "dataset", key, name: `row ${i}`, licence: i % 4 ? "Apache-2.0" : "MIT", dataset_kind: ["fim", "fim", "trace", "cu2triton"][i % 4], split: i % 10 ? "train" : "validation", tokens: 120 + ((i * 577) % 3000), duplicate_of: twin ? `d-${i - 5}` : null, leakage: i % 9 === 4 ? 2 : 0, compile: ["compilable", "fails", "not_tried"][i % 3] });
    details[key] = { kind: "dataset", key, row: datasetRow(i, twin), twin: twin ? { key: `d-${i - 5}`, text: CODE.replaceAll("relu_sum", "other_name") } : null };
  }
  return {
    title: "two runs",
    contents: { redacted: false, holds: [{ what: "prompts", count: rows.length }, { what: "kernels", count: turns.length }], left_out: [] },
    sources: [
      { name: "base.run", kind: "run", state: "finished", facts: { model: "qwen3-coder-30b", temperature: 0.8, seed: 1, max_turns: 4, program_version: "0.9.0", gpu: "NVIDIA H200" }, messages: [] },
      { name: "adapter.run", kind: "run", state: "unfinished", facts: { model: "kernel-adapter", temperature: 0.6, seed: 1, max_turns: 4, program_version: "0.9.0", gpu: "NVIDIA H200", adapter: "out/adapter" }, messages: ["2 lines could not be read"] },
      { name: "verdicts.jsonl", kind: "verdicts", state: "finished", facts: {}, messages: [] },
      { name: "dataset", kind: "dataset", state: "finished", facts: {}, messages: [] },
    ],
    rows,
    turns,
    details,
    datasets: [{ ...ANALYSIS, source: 3 }],
    words: WORDS,
    summary: {},
  };
}

function datasetRow(i, twin) {
  return {
    prompt: "import triton\nimport triton.language as tl\n\n@triton.jit\ndef relu_sum_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):\n",
    completion: CODE.split("\n").slice(6).join("\n"),
    id: `${i}`.padStart(40, "a"),
    kind: "fim",
    unit: "10bbc94d46ec0c22422336a6314a1bad8dc25e5e",
    source: { kind: "git", name: "flag_gems", version: "4.2.0", commit: "0123456789abcdef0123456789abcdef01234567", sha256: null, url: "https://example.org/flag_gems", stars: 812, path: "src/ops/relu.py", span: [442, 986], block: null },
    licence: { spdx: i % 4 ? "Apache-2.0" : "MIT", evidence: "LICENSE" },
    hashes: { sha1: `${i}`.padStart(40, "b"), renamed_sha1: null },
    duplicate_of: twin ? `d-${i - 5}` : null,
    cluster: null,
    leakage: i % 9 === 4 ? [{ relation: "benchmark", against: "KernelBench", row: "level1/19_ReLU", jaccard: 0.83, containment: 0.91, renamed: true, field: "completion", spans: [[4, 120]] }, { relation: "prompt_completion", against: "completion", row: null, jaccard: 0.4, containment: 0.6, renamed: false, field: "prompt", spans: [] }] : [],
    labels: { compile: ["compilable", "fails", "not_tried"][i % 3], compile_reason: i % 3 === 1 ? "arange's arguments must be of type tl.constexpr" : null, compiled_for: ["sm_80", "sm_90"], masked_loads: true, boundary_check: false, shared_memory: false, atomics: false, autotune: false, self_contained: true, clear_argument_shapes: true },
    tokens: 120 + ((i * 577) % 3000),
    split: i % 10 ? "train" : "validation",
    hole: { node: "body", rendering: "plain", region: [442, 986], middle: [537, 986] },
    pair: null,
    verdict: null,
  };
}

const histogram = (count, least, most) => ({ count, mean: (least + most) / 3, least, most, p10: 64, median: 256, p90: 512, p99: 2048, buckets: [0, 0, 0, 0, 0, 1, 6, 20, 25, 19, 8, 1] });

export const ANALYSIS = {
  schema: "kernelwright.dataset_analysis/1",
  program: "0.9.0",
  made_by: "kernelwright dataset build --fim mixed",
  tokenizer: { name: "byte-level BPE", why_null: null },
  sources: [{ kind: "git", name: "flag_gems", version: "4.2.0", files: { seen: 130, taken: 121, bytes_seen: 900000, bytes_taken: 850000, skipped: { licence: 9 } }, units: { triton: 230 }, licences: { "Apache-2.0": 121 }, licence_refused: { "GPL-3.0-only": 9 } }],
  units: { triton: 200, torch: 22, cuda_kernel: 8 },
  units_compile: { compilable: 180, fails: 12 },
  compile_reasons: { "the signature is unknown": 8 },
  duplicates: { exact: 12, renamed: 7, near: 31, clusters: 9, largest: 6 },
  pairs: { cuda: 2, cuda_weak: 0, torch: 1 },
  rows: { count: 90, kinds: { fim: 81, trace: 6, cu2triton: 2, torch2triton: 1 }, holes: { body: 36, call: 18, expression: 17, block: 10 }, renderings: { psm: 34, spm: 29, plain: 18 }, sources: { flag_gems: 83, "traces.json": 6, pairs: 1 }, licences: { "Apache-2.0": 80, MIT: 10 }, splits: { train: 84, validation: 6 }, compile: { compilable: 20 }, labels: { masked_loads: 41, self_contained: 83, atomics: 22 }, leaks: { "benchmark KernelBench": 3, rows: 8 }, review: {}, verdicts: { replay: 6 }, lengths: { prompt_characters: histogram(90, 82, 9111), completion_characters: histogram(90, 9, 2273), tokens: histogram(90, 62, 3412) } },
  parameters: {},
  warnings: [],
};

export const WORDS = {
  status: { correct: { meaning: "Every trial agrees with the reference.", remedy: null, page: "verdict.md" }, incorrect: { meaning: "It ran, and its result is wrong.", remedy: "Compare the first difference.", page: "verdict.md" } },
  error_class: { wrong_value: { meaning: "A value differs from the reference's by more than the tolerance.", remedy: "Look at the first difference.", page: "verdict.md" } },
  counts_reason: { library_only: { meaning: "It launched no kernel of its own.", remedy: "Write the kernel.", page: "verdict.md" } },
  trust: { replay: { meaning: "Judged and timed outside the candidate's process.", remedy: null, page: "gpu-path.md" }, interpreter: { meaning: "Run by Triton's interpreter, without a GPU.", remedy: null, page: "cpu-path.md" } },
};
