// The page's state. All of it is in the URL's fragment: #/PAGE/PART?filter=value&…
import { computed, signal } from "@preact/signals";
import { Report } from "./report";
import { reasonsOf } from "./selection";
import type { Source } from "./source";

export const source = signal<Source | null>(null);
export const report = signal<Report | null>(null);
/** Grows when details can be read that could not be before: report.kwdata was dropped. */
export const dataVersion = signal(0);
/** What could not be read, for the page to show in place of a report. */
export const failure = signal<{ message: string; remedy: string } | null>(null);

export interface Place {
  page: string;
  /** Decoded parts of the path after the page: a key, for example. */
  parts: string[];
  params: URLSearchParams;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function readPlace(fragment: string): Place {
  const text = fragment.replace(/^#?\/?/, "");
  const question = text.indexOf("?");
  const path = (question < 0 ? text : text.slice(0, question)).split("/").map(decode);
  return {
    page: path[0] || "overview",
    parts: path.slice(1),
    params: new URLSearchParams(question < 0 ? "" : text.slice(question + 1)),
  };
}

/** As encodeURIComponent, but half a surrogate pair is no error. */
export function encode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd"));
}

export function writePlace(place: { page: string; parts?: string[]; params?: URLSearchParams }): string {
  const path = [place.page, ...(place.parts ?? [])].map(encode).join("/");
  const query = place.params?.toString();
  return `#/${path}${query ? `?${query}` : ""}`;
}

const fragment = signal(typeof location === "undefined" ? "" : location.hash);
export const place = computed(() => readPlace(fragment.value));
if (typeof window !== "undefined") window.addEventListener("hashchange", () => (fragment.value = location.hash));

/** Goes to a fragment. `replace`: without a new entry in the history, for text that is being typed. */
export function go(to: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(history.state, "", to);
  else if (location.hash !== to) history.pushState(null, "", to);
  fragment.value = to;
}

/** Parameters that all pages share. Links between pages keep them. */
export const FILTERS = ["source", "level", "model", "status", "reason"] as const;
export type Filter = (typeof FILTERS)[number];

type Params = Record<string, string | number | null | undefined | readonly string[]>;

function assign(params: URLSearchParams, changes: Params): void {
  for (const [name, value] of Object.entries(changes)) {
    params.delete(name);
    if (value === null || value === undefined || value === "") continue;
    if (Array.isArray(value)) for (const one of value) params.append(name, one);
    else params.set(name, String(value));
  }
}

/** What links between pages keep beside the filters: the order of the table. */
const KEPT = [...FILTERS, "q", "sort", "dir"];

/** A link to another page that keeps the filters: `href("transcript", [key], {turn: 2})`. */
export function href(page: string, parts: string[] = [], params: Params = {}): string {
  const kept = new URLSearchParams();
  for (const name of KEPT) for (const value of place.value.params.getAll(name)) kept.append(name, value);
  assign(kept, params);
  return writePlace({ page, parts, params: kept });
}

/** A link to this page with other parameters. An empty value removes its parameter. */
export function here(changes: Params): string {
  const params = new URLSearchParams(place.value.params);
  assign(params, changes);
  return writePlace({ ...place.value, params });
}

/** A link that filters by a word alone, or clears this filter where the word is what it has. */
export function filterLink(filter: Filter, word: string): string {
  const chosen = filters[filter].value;
  return here({ [filter]: chosen.size === 1 && chosen.has(word) ? [] : [word] });
}

/** Changes parameters of this page. */
export function setParams(changes: Params, options: { replace?: boolean } = {}): void {
  go(here(changes), options);
}

export const param = (name: string): string | null => place.value.params.get(name);

/** The chosen words of each filter; none means all. `""` stands for rows without a value. */
export const filters = Object.fromEntries(
  FILTERS.map((name) => {
    // The text in between keeps the set, and what is computed from it, while other parameters change.
    const text = computed(() => JSON.stringify(place.value.params.getAll(name)));
    return [name, computed<ReadonlySet<string>>(() => new Set(JSON.parse(text.value) as string[]))];
  }),
) as unknown as Record<Filter, { readonly value: ReadonlySet<string> }>;

/** The words of a row that a filter compares. A source is named by its number, a status includes "does not count". */
export function filterWords(of: Report, filter: Filter, row: number): readonly string[] {
  if (filter === "reason") return reasonsOf(of, row);
  return [filter === "status" ? statusWord(of, row) : (of.rows.text(filter, row) ?? "")];
}

/** The status that people read: a correct result that does not count is a word of its own. */
export function statusWord(of: Report, row: number): string {
  const status = of.rows.text("status", row) ?? "";
  return status === "correct" && of.rows.flag("counts", row) === false ? "does not count" : status;
}

/** The rows that the filters leave, in the order of the report. All pages draw these rows and no others. */
export const filtered = computed<Uint32Array>(() => {
  const of = report.value;
  if (!of) return new Uint32Array(0);
  const active = FILTERS.filter((name) => filters[name].value.size > 0);
  const left = new Uint32Array(of.rows.count);
  let count = 0;
  for (let row = 0; row < of.rows.count; row++) {
    if (active.every((name) => filterWords(of, name, row).some((word) => filters[name].value.has(word)))) left[count++] = row;
  }
  return left.subarray(0, count);
});

/** True where a filter leaves rows out. */
export const isFiltered = computed(() => FILTERS.some((name) => filters[name].value.size > 0));

/** Between two readings of an index that changes all the time. */
const READ_EVERY_MS = 500;

/** Reads the index, and again whenever the source says that it has changed: one reading at a time. */
export function watch(of: Source): () => void {
  source.value = of;
  let stopped = false;
  let reading = false;
  let wanted = false;
  const read = async () => {
    if (reading) {
      wanted = true;
      return;
    }
    reading = true;
    try {
      const index = await of.index();
      if (stopped) return;
      if (report.value?.index !== index) report.value = new Report(index);
      failure.value = null;
    } catch (error) {
      const remedy = error instanceof Error && "remedy" in error ? String(error.remedy) : "";
      failure.value = { message: error instanceof Error ? error.message : String(error), remedy };
    }
    if (of.live) await new Promise((wake) => setTimeout(wake, READ_EVERY_MS));
    reading = false;
    if (wanted && !stopped) {
      wanted = false;
      void read();
    }
  };
  void read();
  const stop = of.changes(() => void read());
  return () => {
    stopped = true;
    stop();
  };
}
