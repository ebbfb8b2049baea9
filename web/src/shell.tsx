// The frame of every page: title, navigation, filters, what went wrong, the data file that is missing.
import { useEffect, useRef, useState } from "preact/hooks";
import { Guard } from "./guard";
import { Help } from "./keys";
import { ContentsStrip } from "./pages/contents";
import { counted } from "./charts/figures";
import { count } from "./numbers";
import type { Report } from "./report";
import { isDatasetAlone, PAGES } from "./router";
import { FILTERS, type Filter, dataVersion, failure, filterWords, filtered, filters, go, href, isFiltered, place, report, setParams, source } from "./state";
import { progressOf } from "./selection";
import { compareWords } from "./table";
import { Text, plain } from "./text";
import { Empty, Problem } from "./ui";

const FILTER_NAMES: Record<Filter, string> = { source: "Source", level: "Level", model: "Model", status: "Status", reason: "Reason" };

function wordsOf(filter: Filter): { word: string; label: string; count: number }[] {
  const of = report.value!;
  const counts = new Map<string, number>();
  for (let row = 0; row < of.rows.count; row++) {
    for (const word of filterWords(of, filter, row)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => compareWords(a[0], b[0]))
    .map(([word, number]) => ({ word, count: number, label: filter === "source" ? (of.sources[Number(word)]?.name ?? word) : word }));
}

function FilterMenu({ filter }: { filter: Filter }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const of = report.value;
  const [words, setWords] = useState<ReturnType<typeof wordsOf>>([]);
  const [wanted, setWanted] = useState("");
  useEffect(() => setWords(wordsOf(filter)), [of, filter]);
  useEffect(() => {
    const close = (event: Event) => {
      if (menu.current?.open && !menu.current.contains(event.target as Node)) menu.current.open = false;
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("focusin", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("focusin", close);
    };
  }, []);
  const chosen = filters[filter].value;
  if (words.length < 2 && chosen.size === 0) return null;
  const change = (word: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(word);
    else next.delete(word);
    setParams({ [filter]: [...next] });
  };
  const shown = wanted ? words.filter((one) => one.label.toLowerCase().includes(wanted.toLowerCase())) : words;
  const only = chosen.size === 1 ? (words.find((one) => chosen.has(one.word))?.label ?? [...chosen][0]!) : null;
  return (
    <details
      class={chosen.size ? "menu active" : "menu"}
      ref={menu}
      onKeyDown={(event) => {
        if (event.key === "Escape" && menu.current?.open) {
          menu.current.open = false;
          menu.current.querySelector("summary")?.focus();
          event.stopPropagation();
        }
      }}
    >
      <summary>
        {FILTER_NAMES[filter]}
        {chosen.size ? <b class="menu-value">{only !== null ? <Text value={only || "none"} limit={24} /> : chosen.size}</b> : null}
      </summary>
      <div class="menu-body" role="group" aria-label={FILTER_NAMES[filter]}>
        {words.length > 12 ? (
          <input type="search" aria-label={`Find a ${filter}`} placeholder="Find" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
        ) : null}
        {shown.slice(0, 200).map((one) => (
          <label key={one.word}>
            <input type="checkbox" checked={chosen.has(one.word)} onChange={(event) => change(one.word, event.currentTarget.checked)} />
            <span class="menu-word">{one.label === "" ? <i>none</i> : <Text value={one.label} />}</span>
            <span class="menu-count">{count(one.count)}</span>
          </label>
        ))}
        {shown.length > 200 ? <p class="mute">{count(shown.length - 200)} more</p> : null}
        {chosen.size ? (
          <button type="button" class="quiet" onClick={() => setParams({ [filter]: [] })}>
            Clear
          </button>
        ) : null}
      </div>
    </details>
  );
}

function Filters() {
  const of = report.value;
  if (!of || of.rows.count === 0) return null;
  return (
    <div class="filters" role="group" aria-label="Filters">
      {FILTERS.map((filter) => (
        <FilterMenu key={filter} filter={filter} />
      ))}
      <span class="filters-count" aria-live="polite">
        {isFiltered.value ? `${count(filtered.value.length)} of ${count(of.rows.count)} rows` : `${count(of.rows.count)} rows`}
      </span>
      {isFiltered.value ? (
        <button type="button" class="quiet" onClick={() => setParams(Object.fromEntries(FILTERS.map((name) => [name, []])))}>
          Clear filters
        </button>
      ) : null}
    </div>
  );
}

/** Where the chunks are in a second file: a place to drop it, and a button that asks for it. */
function MissingData() {
  const [problem, setProblem] = useState<{ message: string; remedy: string } | null>(null);
  dataVersion.value;
  const missing = source.value?.missingData();
  useEffect(() => {
    if (!missing) return;
    const over = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void take(file);
    };
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
    };
  }, [missing?.name]);
  const take = async (file: Blob) => {
    try {
      await source.value!.attach(file);
      setProblem(null);
      dataVersion.value++;
    } catch (error) {
      setProblem({ message: (error as Error).message, remedy: (error as { remedy?: string }).remedy ?? "" });
    }
  };
  if (!missing) return null;
  return (
    <div class="drop">
      <p>
        Transcripts and evidence are in <b><Text value={missing.name} /></b> beside this file. Drop it here, or{" "}
        <label class="file">
          <input type="file" accept=".kwdata" onChange={(event) => event.currentTarget.files?.[0] && void take(event.currentTarget.files[0])} />
          <span>choose it</span>
        </label>
        . Figures and table work without it.
      </p>
      {problem ? <Problem {...problem} /> : null}
    </div>
  );
}

/** That the page follows a run, and how far it is. */
function Live({ of }: { of: Report }) {
  const progress = source.value?.live ? progressOf(of) : null;
  if (!progress) return null;
  return (
    <span class="live" role="status">
      <b>Live</b> {count(progress.ended)} of {counted(progress.begun, "sample")} ended
    </span>
  );
}

export function Shell() {
  const of = report.value;
  const name = Object.hasOwn(PAGES, place.value.page) ? place.value.page : null;
  const page = name === null ? null : PAGES[name]!;
  const main = useRef<HTMLElement>(null);
  const title = of ? plain(String(of.index.title ?? "report")) : "report";
  useEffect(() => {
    document.title = page ? `${page.title} \u00b7 ${title}` : title;
  }, [page, title]);
  useEffect(() => {
    if (of && name === "overview" && isDatasetAlone(of)) go(href("dataset"), { replace: true });
  }, [of, name]);
  if (failure.value && !of) return <main class="page"><Problem {...failure.value} /></main>;
  if (!of) return <main class="page"><p class="mute" role="status">Reading the report …</p></main>;
  const Body = page?.component;
  const isFirst = name === "overview" || (name === "dataset" && place.value.parts.length === 0 && isDatasetAlone(of));
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
      <header class="top">
        <div class="top-row">
          <p class="brand">
            <span class="brand-name">kernelwright</span> <span class="brand-title"><Text value={title} limit={80} /></span>
          </p>
          <Live of={of} />
          <nav aria-label="Pages">
            {Object.entries(PAGES).map(([key, one]) =>
              one.inNavigation?.(of, source.value!) ? (
                <a key={key} href={href(key)} aria-current={key === name ? "page" : undefined}>
                  {one.title}
                </a>
              ) : null,
            )}
          </nav>
        </div>
        <Filters />
      </header>
      <MissingData />
      {failure.value ? <Problem {...failure.value} /> : null}
      <main class="page" id="content" tabIndex={-1} ref={main}>
        {page && !page.ownHeading && place.value.parts.length === 0 ? <h1 class="hidden-visually">{page.title}</h1> : null}
        {isFirst ? <ContentsStrip /> : null}
        {Body ? (
          <Guard key={`${name} ${place.value.parts.join("/")}`} title="This page">
            <Body />
          </Guard>
        ) : <Empty title="There is no such page">The link may come from another version of this page.</Empty>}
      </main>
      <Help />
    </>
  );
}
