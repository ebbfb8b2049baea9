// Full-text search in code and messages: streams over the details, shows its progress, and can be stopped.
import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "./keys";
import { bytes, percent } from "./numbers";
import type { Hit } from "./source";
import { dataVersion, param, setParams, source } from "./state";
import { Problem } from "./ui";

const DELAY_MS = 250;
const HIT_LIMIT = 20_000;

export interface Found {
  byKey: Map<string, Hit[]>;
  hits: number;
}

export interface FinderState {
  text: string;
  running: boolean;
  done: number;
  total: number;
  ms: number;
  stopped: boolean;
  problem: { message: string; remedy: string } | null;
  stop: () => void;
}

/** The places of the text of the parameter `find`; null while nothing is searched for. */
export function useFound(): { found: Found | null; finder: FinderState } {
  const text = param("find") ?? "";
  const of = source.value;
  const data = dataVersion.value;
  const abort = useRef<AbortController | null>(null);
  const [state, setState] = useState<{ found: Found | null; finder: Omit<FinderState, "stop" | "text"> }>({
    found: null,
    finder: { running: false, done: 0, total: 0, ms: 0, stopped: false, problem: null },
  });
  useEffect(() => {
    const idle = { running: false, done: 0, total: 0, ms: 0, stopped: false, problem: null };
    if (text === "" || !of) {
      setState({ found: null, finder: idle });
      return;
    }
    const controller = new AbortController();
    abort.current = controller;
    const search = async () => {
      const begin = performance.now();
      const byKey = new Map<string, Hit[]>();
      let hits = 0;
      let last = { done: 0, total: 0 };
      const say = (more: Partial<FinderState>) =>
        setState({ found: { byKey: new Map(byKey), hits }, finder: { ...idle, ...last, ms: performance.now() - begin, ...more } });
      try {
        say({ running: true });
        for await (const step of of.search(text, controller.signal)) {
          for (const hit of step.hits) {
            if (hits >= HIT_LIMIT) break;
            const list = byKey.get(hit.key);
            if (list) list.push(hit);
            else byKey.set(hit.key, [hit]);
            hits++;
          }
          last = { done: step.done_bytes, total: step.total_bytes };
          if (hits >= HIT_LIMIT) {
            controller.abort();
            break;
          }
          if (controller.signal.aborted) break;
          say({ running: true });
        }
        if (abort.current === controller) say({ stopped: controller.signal.aborted });
      } catch (error) {
        if (abort.current !== controller) return;
        if (controller.signal.aborted) say({ stopped: true });
        else say({ problem: { message: (error as Error).message, remedy: (error as { remedy?: string }).remedy ?? "" } });
      }
    };
    const timer = setTimeout(() => void search(), DELAY_MS);
    return () => {
      clearTimeout(timer);
      if (abort.current === controller) abort.current = null;
      controller.abort();
    };
  }, [text, of, data]);
  return { found: text === "" ? null : state.found, finder: { ...state.finder, text, stop: () => abort.current?.abort() } };
}

export function Finder({ finder }: { finder: FinderState }) {
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ key: "f", label: "Search in code and messages", run: () => field.current?.focus() }]);
  const share = finder.total > 0 ? finder.done / finder.total : 0;
  return (
    <div class="finder">
      <label class="field">
        <span class="hidden-visually">Search in code and messages</span>
        <input
          ref={field}
          type="search"
          placeholder="Search in code and messages"
          value={finder.text}
          onInput={(event) => setParams({ find: event.currentTarget.value, at: null, place: null }, { replace: true })}
        />
      </label>
      {finder.running ? (
        <>
          <progress max={1} value={share || undefined} aria-label="Searched" />
          <button type="button" class="quiet" onClick={finder.stop}>
            Stop
          </button>
        </>
      ) : null}
      {!finder.running && finder.text && finder.total > 0 ? (
        <span class="mute finder-said" role="status">
          {finder.stopped ? `stopped at ${percent(share)} of ` : ""}
          {bytes(finder.total)} in {(finder.ms / 1000).toFixed(1)} s
        </span>
      ) : null}
      {finder.problem ? <Problem {...finder.problem} /> : null}
    </div>
  );
}
