// A report that `kernelwright view` serves, live from the run.
import type { Detail, Index } from "./format";
import { checkIndex } from "./file_source";
import { type Change, type Hit, type SearchStep, type Source, SourceError } from "./source";
import { encode } from "./state";

export class LiveSource implements Source {
  readonly live = true;
  private etag: string | null = null;
  private last: Index | null = null;

  /** `run`: the path of one run of a folder; null where `view` shows one report. */
  constructor(private readonly token: string, private readonly run: string | null) {}

  missingData(): null {
    return null;
  }

  attach(): Promise<void> {
    return Promise.resolve();
  }

  private url(path: string): string {
    if (this.run === null) return path;
    return `${path}${path.includes("?") ? "&" : "?"}run=${encode(this.run)}`;
  }

  async request(path: string, options: { method?: "GET" | "POST"; body?: unknown; signal?: AbortSignal } = {}): Promise<Response> {
    const headers: Record<string, string> = {};
    if (options.method === "POST") {
      headers["Content-Type"] = "application/json";
      headers["X-Kernelwright-Token"] = this.token;
    }
    if (path === "/api/index" && this.etag) headers["If-None-Match"] = this.etag;
    let response: Response;
    try {
      response = await fetch(this.url(path), {
        method: options.method ?? "GET",
        headers,
        body: options.body === undefined ? null : JSON.stringify(options.body),
        signal: options.signal ?? null,
        cache: "no-store",
      });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new SourceError("kernelwright view does not answer", "start it again, or wait until it does");
    }
    if (!response.ok && response.status !== 304) {
      const said = (await response.text().catch(() => "")).slice(0, 400);
      throw new SourceError(`kernelwright view answered ${response.status}: ${said}`, response.status === 401 || response.status === 403 ? "open the address that view printed, with its key" : "see what view printed");
    }
    return response;
  }

  async index(): Promise<Index> {
    const response = await this.request("/api/index");
    if (response.status === 304 && this.last) return this.last;
    this.etag = response.headers.get("ETag");
    this.last = checkIndex((await response.json()) as Index);
    return this.last;
  }

  async detail(key: string): Promise<Detail> {
    return (await (await this.request(`/api/detail?key=${encode(key)}`)).json()) as Detail;
  }

  async *search(text: string, signal: AbortSignal): AsyncIterable<SearchStep> {
    const response = await this.request(`/api/search?text=${encode(text)}&limit=10000`, { signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done || signal.aborted) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      bytes += value.length;
      yield { hits: lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Hit), done_bytes: bytes, total_bytes: 0 };
    }
    if (rest !== "" && !signal.aborted) yield { hits: [JSON.parse(rest) as Hit], done_bytes: bytes, total_bytes: bytes };
  }

  changes(listen: (change: Change) => void): () => void {
    const events = new EventSource(this.url("/api/events"));
    let lost = false;
    events.addEventListener("changed", (event) => listen(JSON.parse((event as MessageEvent<string>).data) as Change));
    events.addEventListener("error", () => (lost = true));
    // The browser connects again by itself; what changed meanwhile was not said.
    events.addEventListener("open", () => {
      if (lost) listen({ version: -1, rows: -1, state: "" });
      lost = false;
    });
    return () => events.close();
  }
}
