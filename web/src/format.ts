// The types of docs/report_format.md. The page trusts none of them: Table and the readers check what they use.

export type Scalar = string | number | boolean | null;
/** One value for each row, or `words` and for each row an index into them (-1: null). */
export type Column = Scalar[] | { words: string[]; at: number[] };
export interface Columns {
  count: number;
  columns: Record<string, Column>;
}

export interface Contents {
  redacted: boolean;
  holds: { what: string; count: number }[];
  left_out: { what: string; count: number; why: string }[];
}

export type SourceKind = "run" | "traces" | "verdicts" | "score" | "dataset";
export type SourceState = "finished" | "unfinished" | "interrupted" | "damaged";
export interface SourceFacts {
  name: string;
  kind: SourceKind;
  state: SourceState;
  facts: Record<string, Scalar>;
  messages: string[];
}

export interface Word {
  meaning: string;
  remedy: string | null;
  page: string | null;
}

export interface ChunkFacts {
  raw_bytes: number;
  sha256: string;
  /** Place in report.kwdata; missing where the chunks are in the file itself. */
  at?: number;
  stored_bytes?: number;
}

export interface FastP {
  p: number;
  share: number | null;
  low: number | null;
  high: number | null;
  at_least: number | null;
  at_most: number | null;
}

export interface Summary {
  rows?: number;
  tasks?: number;
  right?: number;
  wrong?: number;
  unknown?: number;
  fast_p?: FastP[];
  right_by_turn?: { turn: number; samples: number; right: number }[];
  best_kernel_of_task?: Record<string, number>;
  [figure: string]: unknown;
}

export interface Index {
  schema: string;
  program_version: string;
  made_at: string;
  title: string;
  contents: Contents;
  sources: SourceFacts[];
  rows: Columns;
  turns: Columns;
  summary: Summary;
  scores: Record<string, unknown>[];
  datasets: Record<string, unknown>[];
  words: Record<string, Record<string, Word>>;
  chunks: ChunkFacts[];
  data_file?: { name: string; bytes: number };
}

export type Standing = "right" | "wrong" | "unknown";

export interface Explained {
  sentence: string | null;
  error: string | null;
  notes: string[];
  help: string | null;
  place: { file: string | null; line: number | null; column: number | null } | null;
}

export interface Message {
  role: string;
  content: string;
  [field: string]: unknown;
}

/** A verdict as docs/verdict.md describes it: fields of earlier versions may be missing. */
export interface Verdict {
  status: string;
  correctness: boolean | null;
  counts: boolean | null;
  counts_reason: string | null;
  error: string | null;
  error_class: string | null;
  error_detail: { file: string | null; line: number | null; compiler_text: string | null; traceback: string | null } | null;
  stage: string | null;
  fault: string | null;
  trust: string | null;
  speedup: number | null;
  reference_time_ms: number | null;
  kernel_time_ms: number | null;
  evidence?: Record<string, unknown> | null;
  [field: string]: unknown;
}

export interface Usage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  reasoning_tokens?: number | null;
  [field: string]: unknown;
}

export interface Turn {
  turn: number;
  reasoning: string | null;
  triton_code: string | null;
  full_completion: string | null;
  result: Verdict | null;
  feedback_given: string | null;
  model?: string | null;
  usage?: Usage | null;
  finish_reason?: string | null;
  generation_ms?: number | null;
  answered_at?: string | null;
}

export interface Round {
  round: number;
  stop_reason: string | null;
  error: string | null;
  turns: Turn[];
  explained?: (Explained | null)[];
}

export interface Trace {
  sample_key: string;
  source: string | null;
  level: number | null;
  name: string | null;
  task_id: string;
  pytorch_code: string | null;
  prompt: Message[];
  turns: Turn[];
  stop_reason: string | null;
  final_turn?: number | null;
  last_turn?: number | null;
  round?: number | null;
  other_rounds?: Round[] | null;
  model?: string | null;
  licence?: string | null;
  repo?: string | null;
  error?: string | null;
  [field: string]: unknown;
}

export interface TraceDetail {
  kind: "trace";
  key: string;
  trace: Trace;
  explained: (Explained | null)[];
}
export interface VerdictDetail {
  kind: "verdict";
  key: string;
  verdict: Verdict;
  reference_code?: string | null;
  kernel_code?: string | null;
  explained: Explained | null;
}
export interface DatasetDetail {
  kind: "dataset";
  key: string;
  row: Record<string, unknown>;
  twin?: { key?: string; id?: string; text?: string | null } | null;
}
export type Detail = TraceDetail | VerdictDetail | DatasetDetail;
