// One row a task × sample: sort, filter, full-text search, keys.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { COLUMNS, type ColumnView, widthOf } from "../columns";
import { Finder, type Found, useFound } from "../finder";
import { useKeys } from "../keys";
import { count } from "../numbers";
import { ordered, sortColumn, sortDown } from "../order";
import type { Report } from "../report";
import { hasJudged } from "../selection";
import type { Hit } from "../source";
import { go, href, param, report, setParams } from "../state";
import { Text, visible } from "../text";
import { Empty } from "../ui";
import { useVirtual } from "../virtual";

const ROW = 32;
const HIT = 26;
const HITS_SHOWN = 4;
const NARROW = 600;
const taskWidthOf = (width: number) => (width < NARROW ? 150 : 220);

type Item = { row: number; hit: Hit | null; more: number };

function itemsOf(of: Report, rows: Uint32Array, found: Found | null, unfolded: ReadonlySet<number>): Item[] {
  const items: Item[] = [];
  for (const row of rows) {
    if (!found) {
      items.push({ row, hit: null, more: 0 });
      continue;
    }
    const hits = found.byKey.get(of.keyOf(row));
    if (!hits) continue;
    items.push({ row, hit: null, more: 0 });
    const shown = unfolded.has(row) ? hits.length : Math.min(HITS_SHOWN, hits.length);
    for (let i = 0; i < shown; i++) items.push({ row, hit: hits[i]!, more: i === shown - 1 ? hits.length - shown : 0 });
  }
  return items;
}

export function linkOf(of: Report, row: number): string {
  const key = of.keyOf(row);
  return of.rows.text("kind", row) === "dataset" ? href("dataset", [key]) : href("transcript", [key]);
}

/** The task of a row; where its id is a hash alone, a name that people know. */
export function taskName(of: Report, row: number): string {
  const id = of.rows.text("task_id", row);
  return id !== null && !id.startsWith("sha256:") ? id : (of.rows.text("name", row) ?? of.keyOf(row));
}

function linkOfHit(hit: Hit): string {
  return href("transcript", [hit.key], { turn: hit.turn, field: hit.field, line: hit.line });
}


/** Columns that the reader chose, or as many as fit. */
function useColumns(of: Report, width: number): { applying: ColumnView[]; shown: ColumnView[]; widths: number[] } {
  const applying = useMemo(() => COLUMNS.filter((column) => column.applies(of)), [of]);
  const wide = useMemo(() => new Map(applying.map((column) => [column, widthOf(column, of)])), [of, applying]);
  const widthIn = (column: ColumnView) => (width < NARROW && column.narrow ? column.narrow.width : wide.get(column)!);
  const wanted = param("columns");
  const shown = useMemo(() => {
    if (wanted !== null) {
      const names = new Set(wanted.split(" "));
      return applying.filter((column) => names.has(column.name));
    }
    let left = width - taskWidthOf(width) - 16;
    const fitting: ColumnView[] = [];
    for (const column of applying) {
      left -= widthIn(column);
      if (left < 0) break;
      fitting.push(column);
    }
    return fitting;
  }, [applying, wanted, width]);
  return { applying, shown, widths: shown.map(widthIn) };
}

function ColumnMenu({ applying, shown }: { applying: ColumnView[]; shown: ColumnView[] }) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      if (menu.current?.open && !menu.current.contains(event.target as Node)) menu.current.open = false;
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, []);
  const names = new Set(shown.map((column) => column.name));
  const change = (name: string, on: boolean) => {
    if (on) names.add(name);
    else names.delete(name);
    setParams({ columns: [...names].join(" ") || " " }, { replace: true });
  };
  return (
    <details class="menu right" ref={menu}>
      <summary>Columns</summary>
      <div class="menu-body" role="group" aria-label="Columns">
        {applying.map((column) => (
          <label key={column.name}>
            <input type="checkbox" checked={names.has(column.name)} onChange={(event) => change(column.name, event.currentTarget.checked)} />
            <span class="menu-word">{column.title}</span>
          </label>
        ))}
        {param("columns") !== null ? (
          <button type="button" class="quiet" onClick={() => setParams({ columns: null }, { replace: true })}>
            As many as fit
          </button>
        ) : null}
      </div>
    </details>
  );
}

function HeadCell({ name, title, isNumber }: { name: string; title: string; isNumber: boolean }) {
  const sorted = sortColumn.value === name;
  const down = sortDown.value;
  // Numbers begin with the largest: the fastest, the longest.
  const first = isNumber ? "down" : null;
  const next = !sorted ? { sort: name, dir: first } : down === (first === "down") ? { sort: name, dir: down ? null : "down" } : { sort: null, dir: null };
  return (
    <div role="columnheader" class={isNumber ? "cell number" : "cell"} aria-sort={sorted ? (down ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={() => setParams(next, { replace: true })}>
        {title}
        <span class="sort-sign" aria-hidden="true">
          {sorted ? (down ? "\u2193" : "\u2191") : ""}
        </span>
      </button>
    </div>
  );
}

function Marked({ text, wanted }: { text: string; wanted: string }) {
  const at = text.toLowerCase().indexOf(wanted.toLowerCase());
  if (at < 0) return <bdi>{visible(text)}</bdi>;
  return (
    <bdi>
      {visible(text.slice(0, at))}
      <mark>{visible(text.slice(at, at + wanted.length))}</mark>
      {visible(text.slice(at + wanted.length))}
    </bdi>
  );
}

function placesSaid(items: Item[], found: Found): string {
  const rows = new Set(items.map((item) => item.row)).size;
  return `${count(found.hits)} ${found.hits === 1 ? "place" : "places"} in ${count(rows)} ${rows === 1 ? "row" : "rows"}`;
}

/** The rows of a data set have a page of their own. */
export function TablePage() {
  const of = report.value!;
  if (of.rows.count === 0 || hasJudged(of)) return <JudgedRows of={of} />;
  return (
    <Empty title="The report has no traces and no verdicts">
      Its rows are those of a data set. <a href={href("dataset")}>Open the data set.</a>
    </Empty>
  );
}

function NoRows({ of, found, isSearching }: { of: Report; found: Found | null; isSearching: boolean }) {
  if (of.rows.count === 0) return <Empty title="The report has no rows" />;
  if (isSearching) return <Empty title="Searching …" />;
  return <Empty title={found ? "No row contains this text" : "No row passes the filters"}>Change or clear the filters above.</Empty>;
}

function JudgedRows({ of }: { of: Report }) {
  const rows = ordered.value;
  const { found, finder } = useFound();
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const items = useMemo(() => itemsOf(of, rows, found, unfolded), [of, rows, found, unfolded]);
  const box = useRef<HTMLDivElement>(null);
  const filterField = useRef<HTMLInputElement>(null);
  const [width, setWidth] = useState(() => Math.min(window.innerWidth, 1680) - 32);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [items.length > 0]);
  const { applying, shown, widths } = useColumns(of, width);
  const sizes = useMemo(() => (index: number) => (items[index]?.hit ? HIT : ROW), [items]);
  const list = useVirtual(box, items.length, sizes, ROW);

  const at = param("at");
  const place = Number(param("place") ?? 0);
  const selected = useMemo(() => {
    const row = at === null ? null : of.rowOf(at);
    const first = row === null ? -1 : items.findIndex((item) => item.row === row);
    return first < 0 ? -1 : items[first + place]?.row === row ? first + place : first;
  }, [at, place, items]);
  const select = (index: number) => {
    const item = items[index];
    if (!item) return;
    let begin = index;
    while (items[begin - 1]?.row === item.row) begin--;
    setParams({ at: of.keyOf(item.row), place: index > begin ? index - begin : null }, { replace: true });
  };
  useLayoutEffect(() => {
    if (selected >= 0) list.show(selected);
  }, [selected]);
  const openItem = (item: Item | undefined) => {
    if (item) go(item.hit ? linkOfHit(item.hit) : linkOf(of, item.row));
  };
  useKeys([
    { key: "j", also: "ArrowDown", label: "Next row", run: () => select(Math.min(selected + 1, items.length - 1)) },
    { key: "k", also: "ArrowUp", label: "Previous row", run: () => select(selected <= 0 ? 0 : selected - 1) },
    { key: "Enter", label: "Open the row", run: () => openItem(items[selected]) },
    { key: "/", label: "Filter the rows", run: () => filterField.current?.focus() },
    { key: "Escape", label: "Leave the field; clear the selection", inFields: true, run: () => leave() },
  ]);
  const leave = () => {
    if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur();
    else setParams({ at: null, place: null }, { replace: true });
  };

  const narrow = width < NARROW;
  const total = widths.reduce((sum, one) => sum + one, taskWidthOf(width)) + 16;
  const template = `minmax(${taskWidthOf(width)}px, 1fr) ${widths.map((one) => `${one}px`).join(" ")}`;
  return (
    <div class="table-page">
      <div class="table-tools">
        <label class="field">
          <span class="hidden-visually">Filter the rows</span>
          <input
            ref={filterField}
            type="search"
            placeholder="Filter rows: task, model, error …"
            value={param("q") ?? ""}
            onInput={(event) => setParams({ q: event.currentTarget.value, at: null, place: null }, { replace: true })}
            onKeyDown={(event) => event.key === "Enter" && items.length > 0 && (event.currentTarget.blur(), select(0))}
          />
        </label>
        <Finder finder={finder} />
        <span class="table-count mute" aria-live="polite">
          {found ? placesSaid(items, found) : param("q") ? `${count(items.length)} rows` : ""}
        </span>
        <ColumnMenu applying={applying} shown={shown} />
      </div>
      {items.length === 0 ? (
        <NoRows of={of} found={found} isSearching={finder.running} />
      ) : (
        <div class="grid" ref={box} role="table" aria-label="Rows" aria-rowcount={items.length + 1} tabIndex={0} style={{ height: `${list.height + ROW + 20}px` }}>
          <div class="grid-inner" style={{ minWidth: `${total}px` }}>
            <div role="rowgroup" class="grid-head">
              <div role="row" aria-rowindex={1} class="grid-row" style={{ gridTemplateColumns: template }}>
                <HeadCell name="task_id" title="Task" isNumber={false} />
                {shown.map((column) => (
                  <HeadCell key={column.name} {...column} />
                ))}
              </div>
            </div>
            <div role="rowgroup" class="grid-body" style={{ height: `${list.height}px` }}>
              {list.items.map(({ index, start, size }) => {
                const item = items[index];
                if (!item) return null;
                const state = `${index === selected ? " selected" : ""}`;
                const style = { transform: `translateY(${start}px)`, height: `${size}px` };
                if (item.hit) {
                  return (
                    <div role="row" key={`${item.row} ${index}`} aria-rowindex={index + 2} class={`grid-row hit${state}`} style={style}>
                      <div role="cell" class="cell hit-cell">
                        <a href={linkOfHit(item.hit)} class="hit-place">
                          {item.hit.turn === null ? "" : `turn ${item.hit.turn}, `}
                          <Text value={item.hit.field} />:{item.hit.line}
                        </a>
                        <span class="hit-text mono">
                          <Marked text={item.hit.text} wanted={finder.text} />
                        </span>
                        {item.more > 0 ? (
                          <button type="button" class="quiet hit-more" onClick={() => setUnfolded(new Set([...unfolded, item.row]))}>
                            {count(item.more)} more
                          </button>
                        ) : null}
                      </div>
                    </div>
                  );
                }
                return (
                  <div role="row" key={item.row} aria-rowindex={index + 2} aria-current={index === selected ? "true" : undefined} class={`grid-row${state}`} style={{ ...style, gridTemplateColumns: template }} onClick={(event) => !(event.target as HTMLElement).closest("a") && select(index)} onDblClick={() => openItem(item)}>
                    <div role="cell" class="cell">
                      <a href={linkOf(of, item.row)} class="task-link" title={taskName(of, item.row).slice(0, 300)}>
                        <Text value={taskName(of, item.row)} limit={120} />
                      </a>
                    </div>
                    {shown.map((column) => (
                      <div role="cell" key={column.name} class={column.isNumber ? "cell number" : "cell"}>
                        {(narrow ? (column.narrow?.cell ?? column.cell) : column.cell)(of, item.row)}
                      </div>
                    ))}
                  </div>
                );
              })}
            </div>
          </div>
        </div>
      )}
    </div>
  );
}
