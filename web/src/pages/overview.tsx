// Overview: the figures of the rows that the filters leave.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { BarList } from "../charts/bars";
import { RightByTurnChart, type Stack, StackChart } from "../charts/by_turn";
import { FastCurveChart } from "../charts/fast_curve";
import { counted } from "../charts/figures";
import { SpeedupChart, type SpeedupMark } from "../charts/speedups";
import { BestKernels } from "../overview/best";
import { Guide } from "../overview/guide";
import { CostCharts, CostTable } from "../overview/cost";
import { Headline } from "../overview/headline";
import type { Report } from "../report";
import { bestRows, errorsByTurn, faults, judgedRows, judgedSources, nameOf, pageOf, reasonOfFault, rightByTurn, type SpeedColumn, type Speeds, speedsOf } from "../selection";
import { filtered, filterLink, href, isFiltered, report } from "../state";
import { type Bootstrap, finish, type Steps, USUAL_BOOTSTRAP } from "../statistics";
import { useSteps } from "../steps";
import { storedSource, storedSpeeds, storedTurns } from "../stored";
import { plain } from "../text";
import { Empty, Section } from "../ui";
import "../overview/overview.css";

const MOST_CLASSES = 5;
const MOST_BARS = 12;
const MOST_TURNS = 64;

export function Overview(): JSX.Element | null {
  const of = report.value;
  const left = filtered.value;
  const rows = useMemo(() => (of ? judgedRows(of, left) : []), [of, left]);
  if (!of) return null;
  if (rows.length === 0) return <NoRows of={of} />;
  return <Figures of={of} rows={rows} />;
}

function NoRows({ of }: { of: Report }): JSX.Element {
  if (isFiltered.value)
    return <Empty title="The filters leave no judged rows">Clear a filter above to see figures.</Empty>;
  if (of.index.datasets?.length > 0 || of.rows.count > 0)
    return (
      <Empty title="This report has no verdicts">
        Its rows are those of a data set. <a href={href("dataset")}>Open the data set.</a>
      </Empty>
    );
  return <Empty title="This report has no rows">The sources hold no traces and no verdicts yet.</Empty>;
}

const NO_ROWS: readonly number[] = [];
const NO_INTERVALS: Bootstrap = { resamples: 0, seed: 0 };

/**
 * A figure at once without bootstrap intervals, then with them. The program's own figure, where the rows are all of the
 * report, needs no calculation.
 */
function useFigure<Result>(of: Report, rows: readonly number[], make: (bootstrap: Bootstrap) => Steps<Result>, stored: (draft: Result) => Result | null): Result {
  const draft = useMemo(() => finish(make(NO_INTERVALS)), [of, rows]);
  const whole = useMemo(() => (isFiltered.value ? null : stored(draft)), [draft]);
  const { result, current } = useSteps(() => (whole === null ? make(USUAL_BOOTSTRAP) : nothing(whole)), [of, rows]);
  return whole ?? (current && result !== null ? result : draft);
}

function* nothing<Result>(result: Result): Steps<Result> {
  return result;
}

interface SourceSpeeds {
  eager: Speeds;
  compiled: Speeds | null;
}

/** Speeds of all rows, or of those of one of several sources. */
function useSpeeds(of: Report, rows: readonly number[], source: number | null): SourceSpeeds {
  const stored = (draft: Speeds, column: SpeedColumn): Speeds | null => storedSpeeds(of, draft.tasks, column, source === null ? of.index.summary : storedSource(of, source));
  const hasCompiled = useMemo(() => rows.some((row) => of.rows.number("compile_speedup", row) !== null), [of, rows]);
  const timed = hasCompiled ? rows : NO_ROWS;
  const eager = useFigure(of, rows, (bootstrap) => speedsOf(of, rows, "speedup", bootstrap), (draft) => stored(draft, "speedup"));
  const compiled = useFigure(of, timed, (bootstrap) => speedsOf(of, timed, "compile_speedup", bootstrap), (draft) => stored(draft, "compile_speedup"));
  return { eager, compiled: hasCompiled ? compiled : null };
}

const MOST_SOURCES = 16;

/** The headline figures of each of several sources: pooled ones would hide that the sources differ. */
function SourceHeadlines({ of, sources }: { of: Report; sources: readonly [number, number[]][] }): JSX.Element {
  return (
    <>
      {sources.slice(0, MOST_SOURCES).map(([source, rows]) => (
        <SourceHeadline key={source} of={of} source={source} rows={rows} />
      ))}
      {sources.length > MOST_SOURCES && <p class="mute">{counted(sources.length - MOST_SOURCES, "further source")}: filter by source to see its figures.</p>}
    </>
  );
}

function SourceHeadline({ of, source, rows }: { of: Report; source: number; rows: readonly number[] }): JSX.Element {
  const { eager, compiled } = useSpeeds(of, rows, source);
  return (
    <Section title={plain((of.sources[source]?.name ?? `source ${source + 1}`).slice(0, 120))}>
      <Headline of={of} rows={rows} source={source} eager={eager} compiled={compiled} />
    </Section>
  );
}

/** "Pooled over 2 sources." below a figure of several. */
function pooledNote(pooled: string): JSX.Element | null {
  return pooled === "" ? null : <p class="mute">{pooled}.</p>;
}

function Figures({ of, rows }: { of: Report; rows: readonly number[] }): JSX.Element {
  const sources = useMemo(() => judgedSources(of, rows), [of, rows]);
  const pooled = sources.length > 1 ? `Pooled over ${sources.length} sources` : "";
  const { eager, compiled } = useSpeeds(of, rows, null);
  const byTurn = useFigure(of, rows, (bootstrap) => rightByTurn(of, rows, bootstrap), () => storedTurns(of));
  const facts = useMemo(
    () => ({ marks: marksOf(of, rows), errors: errorStacks(of, rows), faults: faults(of, rows), best: bestRows(of, rows) }),
    [of, rows],
  );
  const noSpeed = facts.marks.length === 0;
  return (
    <div class="overview">
      {pooled === "" ? <Headline of={of} rows={rows} source={null} eager={eager} compiled={compiled} /> : <SourceHeadlines of={of} sources={sources} />}
      <Guide of={of} rows={rows} best={facts.best} />
      <div class="cards">
        {noSpeed ? null : (
          <>
            <div class="card">
              <FastCurveChart
                series={[
                  { name: "eager PyTorch", curve: eager.curve },
                  ...(compiled ? [{ name: "torch.compile", curve: compiled.curve }] : []),
                ]}
              >
                {pooledNote(pooled)}
              </FastCurveChart>
            </div>
            <div class="card">
              <SpeedupChart marks={facts.marks} mean={pooled === "" ? eager.mean : null}>{pooledNote(pooled)}</SpeedupChart>
            </div>
          </>
        )}
        {byTurn.length > 1 && (
          <div class="card">
            <RightByTurnChart turns={byTurn}>{pooledNote(pooled)}</RightByTurnChart>
          </div>
        )}
        <div class="card">
          <Errors {...facts.errors} />
          {pooledNote(pooled)}
        </div>
        <CostCharts of={of} rows={rows} note={pooledNote(pooled)} />
      </div>
      {facts.faults.size > 0 && <Faults found={facts.faults} pooled={pooled} />}
      <Section title="Best kernel of each task" aside={`${counted(facts.best.length, "task")} with a right answer${pooled === "" ? "" : `, ${pooled.toLowerCase()}`}`}>
        {facts.best.length === 0 ? <Empty title="No answer is right" /> : <BestKernels of={of} best={facts.best} />}
      </Section>
      <Section title="Time and tokens by source">
        <CostTable of={of} rows={rows} />
      </Section>
    </div>
  );
}

/** Wrong turns by error class: stacks by turn, and bars where no sample has a second turn. */
function Errors({ parts, words, stacks }: ErrorStacks): JSX.Element {
  if (stacks.length === 0) return <Empty title="No judged turn is wrong">Error classes by turn stand here.</Empty>;
  const link = (part: number): string | undefined => (words[part] === undefined ? undefined : filterLink("reason", words[part]));
  if (stacks.length > 1)
    return <StackChart title="Wrong turns by error class" noun="turn" axis="turns" parts={parts} stacks={stacks} hrefOf={link} does="filters all figures by this class, or clears the filter" />;
  const total = stacks[0]!.values.reduce((sum, value) => sum + value, 0);
  return (
    <>
      <h2 class="chart-title">Wrong samples by error class</h2>
      <BarList bars={parts.map((name, i) => ({ name, value: stacks[0]!.values[i] ?? 0, href: link(i) }))} of={total} label="Wrong samples by error class" all />
      <p class="mute">A name filters all figures by its class.</p>
    </>
  );
}

function Faults({ found, pooled }: { found: Map<string, number>; pooled: string }): JSX.Element {
  const bars = [...found].sort((a, b) => b[1] - a[1]).map(([name, value]) => ({ name, value, href: filterLink("reason", reasonOfFault(name)) }));
  return (
    <Section title="Turns not judged" aside={`Faults of a task or of the infrastructure do not count against a model.${pooled === "" ? "" : ` ${pooled}.`}`}>
      <BarList bars={bars} label="What was not judged, and why" series={5} />
    </Section>
  );
}

function marksOf(of: Report, rows: readonly number[]): SpeedupMark[] {
  const marks: SpeedupMark[] = [];
  for (const row of rows) {
    const speedup = of.rows.number("speedup", row);
    if (speedup === null || speedup <= 0 || of.rows.value("standing", row) !== "right") continue;
    marks.push({
      name: nameOf(of, row).slice(0, 80),
      speedup,
      low: of.rows.number("speedup_low", row),
      high: of.rows.number("speedup_high", row),
      href: href(pageOf(of, row), [of.keyOf(row)]),
    });
  }
  return marks;
}

interface ErrorStacks {
  parts: string[];
  /** The reasons of the first parts; the last part may stand for several. */
  words: string[];
  stacks: Stack[];
}

function errorStacks(of: Report, rows: readonly number[]): ErrorStacks {
  const turns = errorsByTurn(of, rows).slice(0, MOST_TURNS);
  const totals = new Map<string, number>();
  for (const turn of turns) for (const [word, number] of turn) totals.set(word, (totals.get(word) ?? 0) + number);
  const words = [...totals].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([word]) => word);
  // Bars of a single turn have room for all classes.
  const most = turns.length > 1 ? MOST_CLASSES : MOST_BARS;
  const named = words.slice(0, words.length > most + 1 ? most : most + 1);
  const others = words.slice(named.length);
  const parts = [...named, ...(others.length > 0 ? [`${others.length} other classes`] : [])];
  const stacks = turns.map((turn, i) => {
    const values = named.map((word) => turn.get(word) ?? 0);
    if (others.length > 0) values.push(others.reduce((sum, word) => sum + (turn.get(word) ?? 0), 0));
    return { label: String(i + 1), values };
  });
  return { parts: parts.map((part) => part.slice(0, 60)), words: named, stacks };
}
