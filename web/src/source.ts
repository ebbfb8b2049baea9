// Where a report's data come from: this file, report.kwdata beside it, or `kernelwright view`.
import type { Detail, Index } from "./format";

/** One place where a searched text stands. `turn` is null outside of turns; `line` counts from 1. */
export interface Hit {
  key: string;
  turn: number | null;
  field: string;
  line: number;
  text: string;
}

/** The state of a search: hits since the last report, and how much was searched. */
export interface SearchStep {
  hits: Hit[];
  done_bytes: number;
  total_bytes: number;
}

/** `view` says that the index has changed. */
export interface Change {
  version: number;
  rows: number;
  state: string;
}

export interface Source {
  readonly live: boolean;
  index(): Promise<Index>;
  detail(key: string): Promise<Detail>;
  /** Searches all details for a text, upper and lower case alike; ends when `signal` aborts. */
  search(text: string, signal: AbortSignal): AsyncIterable<SearchStep>;
  /** Calls `listen` when the index has changed; returns a function that ends it. Never calls where nothing can change. */
  changes(listen: (change: Change) => void): () => void;
  /** The data beside the file, until the user has dropped it; null where nothing is missing. */
  missingData(): { name: string; bytes: number } | null;
  /** Takes report.kwdata. */
  attach(file: Blob): Promise<void>;
  /** A request to `view`, with its token; an error where there is no `view`. */
  request(path: string, options?: { method?: "GET" | "POST"; body?: unknown; signal?: AbortSignal }): Promise<Response>;
}

export class SourceError extends Error {
  constructor(message: string, readonly remedy: string) {
    super(message);
  }
}
