// A report in a file: the index and the chunks are inert script elements of the page, or the chunks are in report.kwdata.
import type { ChunkFacts, Detail, Index } from "./format";
import { fromBase64, inflate, sha256 } from "./inflate";
import { searchDetail, searcher } from "./search";
import { type Change, type SearchStep, type Source, SourceError } from "./source";
import { Table } from "./table";

const INDEX_LIMIT = 1 << 30;
const CHUNK_LIMIT = 256 << 20;
const KEPT_BYTES = 32 << 20;
const MAGIC = "kwdata1\n";

/** Waits until the parser has passed the end of an element; null where the document has none. */
async function whole(find: () => Element | null): Promise<Element | null> {
  for (;;) {
    const found = find();
    if (document.readyState !== "loading") return find();
    if (found && found.nextElementSibling) return found;
    await new Promise((wake) => setTimeout(wake, 10));
  }
}

export class FileSource implements Source {
  readonly live = false;
  private places: Promise<{ index: Index; rows: Table; rowOf: Map<string, number> }> | null = null;
  private data: Blob | null = null;
  private readonly kept = new Map<number, Uint8Array<ArrayBuffer>>();
  private keptBytes = 0;
  private readonly verified = new Set<number>();

  index(): Promise<Index> {
    return this.opened().then((of) => of.index);
  }

  changes(_listen: (change: Change) => void): () => void {
    return () => undefined;
  }

  request(): Promise<Response> {
    return Promise.reject(new SourceError("this is a file, not a running view", "kernelwright view opens it with these functions"));
  }

  missing: Index["data_file"] | null = null;

  missingData() {
    return this.data ? null : (this.missing ?? null);
  }

  async attach(file: Blob): Promise<void> {
    const { index } = await this.opened();
    const begin = await file.slice(0, MAGIC.length).text();
    if (begin !== MAGIC) throw new SourceError("this file does not begin as report data does", "choose the .kwdata file that was written with this report");
    const expected = index.data_file?.bytes;
    if (expected !== undefined && file.size !== expected) {
      throw new SourceError(`this file has ${file.size} bytes; the report's data have ${expected}`, "choose the .kwdata file that was written with this report");
    }
    this.data = file;
    this.verified.clear();
  }

  async detail(key: string): Promise<Detail> {
    const { rows, rowOf } = await this.opened();
    const row = rowOf.get(key);
    if (row === undefined) throw new SourceError("the report has no entry with this key", "the link may come from another report");
    const chunk = rows.number("chunk", row);
    const offset = rows.number("offset", row);
    const bytes = rows.number("bytes", row);
    if (chunk === null || offset === null || bytes === null) throw new SourceError("the report does not contain the details of this entry", "write the report again without leaving them out");
    const raw = await this.chunk(chunk);
    if (offset < 0 || bytes < 0 || offset + bytes > raw.length) throw new SourceError(`the details lie outside of chunk ${chunk}`, "the file is damaged; write the report again");
    return parseDetail(raw.subarray(offset, offset + bytes));
  }

  async *search(text: string, signal: AbortSignal): AsyncIterable<SearchStep> {
    const { index } = await this.opened();
    const total = index.chunks.reduce((sum, chunk) => sum + chunk.raw_bytes, 0);
    const find = searcher(text);
    let done = 0;
    let shown = performance.now();
    let hits: SearchStep["hits"] = [];
    // The next chunks inflate while one is searched.
    const ahead: Promise<Uint8Array<ArrayBuffer>>[] = [];
    for (let i = 0; i < index.chunks.length; i++) {
      while (ahead.length < 4 && i + ahead.length < index.chunks.length) {
        const next = this.read(i + ahead.length);
        next.catch(() => undefined);
        ahead.push(next);
      }
      const raw = await ahead.shift()!;
      if (signal.aborted) return;
      for (const line of find(raw)) hits.push(...searchDetail(parseDetail(line), text));
      done += raw.length;
      if (performance.now() - shown > 50) {
        yield { hits, done_bytes: done, total_bytes: total };
        hits = [];
        await new Promise((wake) => setTimeout(wake, 0));
        if (signal.aborted) return;
        shown = performance.now();
      }
    }
    yield { hits, done_bytes: done, total_bytes: total };
  }

  private opened() {
    this.places ??= this.open();
    return this.places;
  }

  private async open() {
    const element = await whole(() => document.querySelector('script[type="application/vnd.kernelwright.index"]'));
    if (!element) throw new SourceError("this page contains no report", "kernelwright report writes one, and kernelwright view serves one");
    const rawBytes = Number(element.getAttribute("data-raw-bytes"));
    if (!Number.isInteger(rawBytes) || rawBytes < 0 || rawBytes > INDEX_LIMIT) throw new SourceError("the report's index does not state its length", "the file is damaged; write the report again");
    let index: Index;
    try {
      const raw = await inflate(fromBase64(element.textContent ?? ""), rawBytes);
      index = JSON.parse(new TextDecoder().decode(raw)) as Index;
    } catch (error) {
      throw new SourceError(`the report's index cannot be read: ${String(error)}`, "the file is damaged or was cut; write the report again");
    }
    index = checkIndex(index);
    element.remove();
    const rows = new Table(index.rows);
    const rowOf = new Map<string, number>();
    for (let row = rows.count - 1; row >= 0; row--) rowOf.set(rows.text("key", row) ?? "", row);
    this.missing = index.data_file ?? null;
    return { index, rows, rowOf };
  }

  /** A chunk for one detail: a few are kept, the last used longest. */
  private async chunk(number: number): Promise<Uint8Array<ArrayBuffer>> {
    const known = this.kept.get(number);
    const raw = known ?? (await this.read(number));
    if (this.kept.delete(number)) this.keptBytes -= raw.length;
    this.kept.set(number, raw);
    this.keptBytes += raw.length;
    for (const [old, bytes] of this.kept) {
      if (this.keptBytes <= KEPT_BYTES || old === number) break;
      this.kept.delete(old);
      this.keptBytes -= bytes.length;
    }
    return raw;
  }

  private async read(number: number): Promise<Uint8Array<ArrayBuffer>> {
    const known = this.kept.get(number);
    if (known) return known;
    const { index } = await this.opened();
    const facts = index.chunks[number];
    if (!facts) throw new SourceError(`the report has no chunk ${number}`, "the file is damaged; write the report again");
    try {
      const raw = await inflate(await this.stored(number, facts), facts.raw_bytes);
      if (!this.verified.has(number)) {
        if ((await sha256(raw)) !== facts.sha256) throw new Error("its SHA-256 is not the stated one");
        this.verified.add(number);
      }
      return raw;
    } catch (error) {
      if (error instanceof SourceError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new SourceError(`chunk ${number} of the report cannot be read: ${why}`, "the file is damaged or was cut; write the report again");
    }
  }

  private async stored(number: number, facts: ChunkFacts): Promise<Uint8Array<ArrayBuffer>> {
    if (facts.at !== undefined) {
      if (!this.data) throw new SourceError("the details are in a second file", `drop ${this.missing?.name ?? "the .kwdata file"} on this page`);
      return new Uint8Array(await this.data.slice(facts.at, facts.at + (facts.stored_bytes ?? 0)).arrayBuffer());
    }
    const element = await whole(() => document.getElementById(`chunk-${number}`));
    if (!element) throw new Error("the file ends before it");
    return fromBase64(element.textContent ?? "");
  }
}

function parseDetail(line: Uint8Array): Detail {
  const detail = JSON.parse(new TextDecoder().decode(line)) as Detail;
  if (typeof detail !== "object" || detail === null || typeof detail.kind !== "string") throw new SourceError("an entry of the report is no detail", "the file is damaged; write the report again");
  return detail;
}

/** Refuses another format; fills in what an index lacks, so that the pages need not ask. */
export function checkIndex(index: Index): Index {
  if (typeof index !== "object" || index === null || typeof index.schema !== "string") throw new SourceError("the report's index is not an index", "the file is damaged; write the report again");
  if (index.schema !== "kernelwright.report/1") throw new SourceError("the report has another format than this page reads", "open it with the program that wrote it");
  const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  const list = <T>(value: T[] | undefined): T[] => (Array.isArray(value) ? value.filter(isObject) : []);
  const object = <T extends object>(value: T | undefined): T => (isObject(value) ? value! : ({} as T));
  const chunks = Array.isArray(index.chunks) ? index.chunks : [];
  for (const chunk of chunks) {
    if (!Number.isInteger(chunk?.raw_bytes) || chunk.raw_bytes < 0 || chunk.raw_bytes > CHUNK_LIMIT) throw new SourceError("a chunk of the report does not state its length", "the file is damaged; write the report again");
  }
  return {
    ...index,
    chunks,
    sources: list(index.sources).map((of) => ({ ...of, facts: object(of.facts), messages: Array.isArray(of.messages) ? of.messages : [] })),
    contents: { redacted: index.contents?.redacted === true, holds: list(index.contents?.holds), left_out: list(index.contents?.left_out) },
    summary: object(index.summary),
    scores: list(index.scores),
    datasets: list(index.datasets),
    words: object(index.words),
  };
}
