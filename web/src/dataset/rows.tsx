// The rows of a data set: which are duplicates, which resemble a benchmark, under which licence.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count, NONE } from "../numbers";
import type { Report } from "../report";
import { nameOf } from "../selection";
import { href, param, setParams } from "../state";
import { Text } from "../text";
import { Empty, ShowMore } from "../ui";
import { Wide } from "../wide";

const STEP = 100;

interface View {
  name: string;
  title: string;
  has: (of: Report, row: number) => boolean;
}

const VIEWS: readonly View[] = [
  { name: "all", title: "All", has: () => true },
  { name: "duplicates", title: "Duplicates", has: (of, row) => of.rows.value("duplicate_of", row) !== null },
  { name: "leaks", title: "Like a benchmark", has: (of, row) => (of.rows.number("leakage", row) ?? 0) > 0 },
  { name: "fails", title: "Do not compile", has: (of, row) => of.rows.value("compile", row) === "fails" },
  { name: "unlicensed", title: "Without licence", has: (of, row) => of.rows.value("licence", row) === null },
];

function matches(of: Report, row: number, words: readonly string[]): boolean {
  const text = ["name", "key", "licence", "dataset_kind", "split", "compile", "duplicate_of"].map((column) => of.rows.text(column, row) ?? "").join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

export function DatasetRows({ of, rows }: { of: Report; rows: readonly number[] }): JSX.Element {
  const view = VIEWS.find((one) => one.name === param("show")) ?? VIEWS[0]!;
  const query = param("q") ?? "";
  const [shown, setShown] = useState(STEP);
  const counts = useMemo(() => VIEWS.map((one) => rows.filter((row) => one.has(of, row)).length), [of, rows]);
  const left = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return rows.filter((row) => view.has(of, row) && matches(of, row, words));
  }, [of, rows, view, query]);
  return (
    <>
      <div class="dataset-views">
        <div class="tabs" role="group" aria-label="Which rows">
          {VIEWS.map((one, i) => (
            <button type="button" class="quiet" aria-pressed={one === view} onClick={() => setParams({ show: one.name === "all" ? null : one.name })}>
              {one.title} {count(counts[i])}
            </button>
          ))}
        </div>
        <input
          type="search"
          aria-label="Find rows"
          placeholder="Find by name, licence, kind"
          value={query}
          onInput={(event) => setParams({ q: event.currentTarget.value }, { replace: true })}
        />
      </div>
      {left.length === 0 ? (
        <Empty title="No rows are left">{rows.length === 0 ? "The report contains no rows of a data set." : "Choose another view, or clear the text."}</Empty>
      ) : (
        <Wide label="Rows">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Row</th>
                <th scope="col">Kind</th>
                <th scope="col">Split</th>
                <th scope="col" class="number">Tokens</th>
                <th scope="col">Licence</th>
                <th scope="col">Compile</th>
                <th scope="col">Duplicate of</th>
                <th scope="col" class="number">Benchmarks</th>
              </tr>
            </thead>
            <tbody>
              {left.slice(0, shown).map((row) => (
                <RowLine key={of.keyOf(row)} of={of} row={row} />
              ))}
            </tbody>
          </table>
        </Wide>
      )}
      <ShowMore shown={shown} of={left.length} noun="row" more={() => setShown(shown + 10 * STEP)} />
    </>
  );
}

function RowLine({ of, row }: { of: Report; row: number }): JSX.Element {
  const text = (column: string): JSX.Element => <Text value={of.rows.text(column, row) ?? NONE} limit={60} />;
  const twin = of.rows.text("duplicate_of", row);
  const leaks = of.rows.number("leakage", row);
  return (
    <tr>
      <th scope="row" class="dataset-name">
        <a href={href("dataset", [of.keyOf(row)])}><Text value={nameOf(of, row)} limit={80} /></a>
      </th>
      <td>{text("dataset_kind")}</td>
      <td>{text("split")}</td>
      <td class="number">{count(of.rows.number("tokens", row))}</td>
      <td class="nowrap">{of.rows.value("licence", row) === null ? <span class="warn">! unknown</span> : text("licence")}</td>
      <td>{text("compile")}</td>
      <td class="mono">{twin === null ? NONE : <Text value={twin.slice(0, 16)} />}</td>
      <td class="number">{leaks === null ? NONE : leaks > 0 ? <span class="warn">! {count(leaks)}</span> : "0"}</td>
    </tr>
  );
}
