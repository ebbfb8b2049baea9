// Compare: two sources on the same tasks. All figures are paired: a task counts where both sides were judged.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { BarList } from "../charts/bars";
import { between, counted, shareText } from "../charts/figures";
import { SpeedupChart } from "../charts/speedups";
import { type Flip, flips, type Setting, settings, type Side, sidesOf, speedRatios, standings } from "../compare/cases";
import { count, NONE, percent, times } from "../numbers";
import type { Report } from "../report";
import { endedRows, judgedRows, nameOf, pageOf } from "../selection";
import { filtered, href, isFiltered, param, report, setParams, statusWord } from "../state";
import { compareRight, compareSpeedups, type Estimate, geometricMean, type Paired, pWords, type Steps } from "../statistics";
import { useSteps } from "../steps";
import { plain, Text } from "../text";
import { Empty, Facts, Section, ShowMore, Status } from "../ui";
import { Wide } from "../wide";
import "../compare/compare.css";

const STEP = 50;
const MOST_SOURCES = 100;

export function Compare(): JSX.Element | null {
  const of = report.value;
  const left = filtered.value;
  const sides = useMemo(() => (of ? sidesOf(of, endedRows(of, judgedRows(of, left))) : []), [of, left]);
  if (!of) return null;
  if (sides.length < 2)
    return (
      <Empty title="There is nothing to compare">
        {isFiltered.value ? "The filters leave judged rows of fewer than two sources." : "A comparison needs judged rows of two sources: kernelwright report RUN_A RUN_B."}
      </Empty>
    );
  const before = sideOf(sides, "before") ?? sides[0]!;
  const after = sideOf(sides, "after") ?? sides.find((side) => side !== before)!;
  return (
    <>
      <Pick of={of} sides={sides} before={before} after={after} />
      {before === after ? (
        <Empty title="Both sides are the same source">Choose another one above.</Empty>
      ) : (
        <Pair of={of} before={before} after={after} key={`${before.source} ${after.source}`} />
      )}
      <Section title="All sources">
        <Sources of={of} sides={sides} />
      </Section>
    </>
  );
}

function sideOf(sides: readonly Side[], name: string): Side | null {
  const wanted = param(name);
  return wanted === null ? null : (sides.find((side) => String(side.source) === wanted) ?? null);
}

const sourceName = (of: Report, side: Side): string => plain(String(of.sources[side.source]?.name ?? `source ${side.source}`)).slice(0, 120);

function Pick(props: { of: Report; sides: readonly Side[]; before: Side; after: Side }): JSX.Element {
  const menu = (name: "before" | "after", side: Side): JSX.Element => (
    <label>
      {name === "before" ? "Before" : "After"}
      <select value={String(side.source)} onChange={(event) => setParams({ [name]: event.currentTarget.value })}>
        {props.sides.slice(0, MOST_SOURCES).map((one) => (
          <option value={String(one.source)}>{sourceName(props.of, one)}</option>
        ))}
      </select>
    </label>
  );
  return (
    <div class="compare-pick">
      {menu("before", props.before)}
      {menu("after", props.after)}
      <button type="button" onClick={() => setParams({ before: String(props.after.source), after: String(props.before.source) })}>
        Swap
      </button>
    </div>
  );
}

interface Measures {
  right: Paired;
  speed: Paired;
  ratio: Estimate;
}

function* measures(before: Side, after: Side): Steps<Measures> {
  return {
    right: yield* compareRight(before.tasks, after.tasks),
    speed: yield* compareSpeedups(before.tasks, after.tasks),
    ratio: yield* geometricMean(speedRatios(before, after).map((one) => one.ratio)),
  };
}

function Pair({ of, before, after }: { of: Report; before: Side; after: Side }): JSX.Element {
  const { result, current } = useSteps(() => measures(before, after), [before, after]);
  const cases = useMemo(() => ({ flips: flips(before, after), standings: standings(before, after), ratios: speedRatios(before, after) }), [before, after]);
  if (!result) return <p class="mute" role="status">Calculating …</p>;
  const { right, speed } = result;
  if (right.tasks === 0)
    return (
      <Empty title="No task was judged on both sides">
        {counted(before.tasks.length, "task")} before and {counted(after.tasks.length, "task")} after have no id in common.
      </Empty>
    );
  return (
    <div class={current ? undefined : "stale"} aria-busy={!current}>
      <Section title="Wins and losses">
        <div class="cards compare-cards">
          <article class="card">
            <h3>Right answers</h3>
            <p class="compare-words">{right.words}</p>
            <PairedFacts paired={right} write={shareText} difference={(value) => `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)} points`} />
            <BarList
              label="Tasks by outcome"
              of={right.tasks}
              bars={[...cases.standings].filter(([name, value]) => value > 0 || name === "better" || name === "worse").map(([name, value]) => ({ name, value }))}
            />
          </article>
          <article class="card">
            {cases.ratios.length === 0 ? (
              <Empty title="No speeds to compare">No task is right with a known speed on both sides.</Empty>
            ) : (
              <>
                <SpeedupChart
                  marks={cases.ratios.map(({ taskId, ratio }) => {
                    const row = after.first.get(taskId)!;
                    return { name: nameOf(of, row).slice(0, 80), speedup: ratio, low: null, high: null, href: href(pageOf(of, row), [of.keyOf(row)]) };
                  })}
                  mean={result.ratio}
                  texts={{ title: "Speed after over speed before, by task", axis: "times as fast as before", mean: "mean ratio", one: "ratio" }}
                />
                <p class="compare-words">{speed.words}</p>
                <PairedFacts paired={speed} write={(value) => times(Math.exp(value))} difference={(value) => times(Math.exp(value))} differenceName="Ratio" />
              </>
            )}
          </article>
        </div>
      </Section>
      <Section title="Cases that flipped" aside={`${counted(cases.flips.length, "task")}, losses first`}>
        <Flips of={of} flips={cases.flips} />
        <OnlyOneSide before={right.onlyBefore} after={right.onlyAfter} names={[sourceName(of, before), sourceName(of, after)]} />
      </Section>
      <Settings of={of} sources={[before.source, after.source]} names={[sourceName(of, before), sourceName(of, after)]} />
    </div>
  );
}

function PairedFacts(props: { paired: Paired; write: (value: number) => string; difference: (value: number) => string; differenceName?: string }): JSX.Element {
  const { paired } = props;
  const known = (value: number | null, write: (value: number) => string): string => (value === null ? NONE : write(value));
  return (
    <Facts
      facts={[
        ["Tasks on both sides", count(paired.tasks)],
        ["Before", known(paired.before, props.write)],
        ["After", known(paired.after, props.write)],
        [props.differenceName ?? "Difference", known(paired.difference.value, props.difference)],
        [
          `95% interval${paired.difference.method ? ` (${paired.difference.method})` : ""}`,
          between(paired.difference.interval, props.difference) || <span class="mute">{paired.difference.why || NONE}</span>,
        ],
        [paired.method || "Test", paired.pValue === null ? NONE : pWords(paired.pValue)],
      ]}
    />
  );
}

function Flips({ of, flips: all }: { of: Report; flips: readonly Flip[] }): JSX.Element {
  const [shown, setShown] = useState(STEP);
  if (all.length === 0) return <p class="mute">No task has another share of right answers.</p>;
  const cell = (row: number, right: string): JSX.Element => (
    <>
      <a href={href(pageOf(of, row), [of.keyOf(row)])}>{right} right</a> <Status status={statusWord(of, row) || null} />
    </>
  );
  return (
    <>
      <Wide label="Cases that flipped">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Task</th>
              <th scope="col">Change</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {all.slice(0, shown).map((flip) => (
              <tr key={flip.taskId}>
                <th scope="row" class="compare-task"><Text value={nameOf(of, flip.after)} limit={120} /></th>
                <td class={flip.difference > 0 ? "nowrap good" : "nowrap bad"}>{flip.difference > 0 ? "▲ gained" : "▼ lost"}</td>
                <td class="nowrap">{cell(flip.before, flip.rightBefore)}</td>
                <td class="nowrap">{cell(flip.after, flip.rightAfter)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <ShowMore shown={shown} of={all.length} noun="task" more={() => setShown(shown * 4)} />
    </>
  );
}

function OnlyOneSide({ before, after, names }: { before: readonly string[]; after: readonly string[]; names: [string, string] }): JSX.Element | null {
  if (before.length + after.length === 0) return null;
  const list = (name: string, ids: readonly string[]): JSX.Element | null =>
    ids.length === 0 ? null : (
      <details>
        <summary>
          {counted(ids.length, "task")} judged in <Text value={name} limit={80} /> alone
        </summary>
        <ul class="messages">
          {ids.slice(0, 200).map((id) => (
            <li>
              <Text value={id} limit={200} />
            </li>
          ))}
          {ids.length > 200 && <li class="mute">{count(ids.length - 200)} more</li>}
        </ul>
      </details>
    );
  return (
    <>
      {list(names[0], before)}
      {list(names[1], after)}
    </>
  );
}

function Settings(props: { of: Report; sources: readonly number[]; names: readonly string[] }): JSX.Element {
  const { differing, partial, equal } = settings(props.of, props.sources);
  return (
    <Section title="Settings that differ" aside={counted(equal, "equal setting")}>
      {differing.length > 0 ? (
        <SettingsTable label="Settings that differ" settings={differing} names={props.names} />
      ) : (
        <p class="mute">{equal > 0 ? "All settings that both sources record are equal." : "The sources record no setting in common."}</p>
      )}
      {partial.length > 0 && (
        <details>
          <summary>{counted(partial.length, "setting")} that only one of the sources records</summary>
          <SettingsTable label="Settings of one source" settings={partial} names={props.names} />
        </details>
      )}
    </Section>
  );
}

function SettingsTable(props: { label: string; settings: readonly Setting[]; names: readonly string[] }): JSX.Element {
  return (
    <Wide label={props.label}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Setting</th>
            {props.names.map((name) => (
              <th scope="col"><Text value={name} /></th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.settings.slice(0, 200).map(({ name, values }) => (
            <tr>
              <th scope="row"><Text value={name} limit={120} /></th>
              {values.map((value) => (
                <td>{value === "" ? <span class="mute">not set</span> : <Text value={value} limit={300} />}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function Sources({ of, sides }: { of: Report; sides: readonly Side[] }): JSX.Element {
  return (
    <Wide label="All sources">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Source</th>
            {["Tasks", "Samples", "Right", "Share right", "Faster than eager"].map((name) => (
              <th scope="col" class="number">{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sides.slice(0, MOST_SOURCES).map((side) => {
            const judged = side.tasks.filter((task) => task.samples > 0);
            const sum = (number: (task: (typeof judged)[number]) => number): number => judged.reduce((total, task) => total + number(task), 0);
            const samples = sum((task) => task.samples);
            return (
              <tr>
                <th scope="row"><Text value={sourceName(of, side)} /></th>
                <td class="number">{count(judged.length)}</td>
                <td class="number">{count(samples)}</td>
                <td class="number">{count(sum((task) => task.right))}</td>
                <td class="number">{judged.length === 0 ? NONE : percent(sum((task) => task.right / task.samples) / judged.length, 1)}</td>
                <td class="number">{sum((task) => task.speedups.length) === 0 ? NONE : count(sum((task) => task.speedups.filter((speedup) => speedup > 1).length))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Wide>
  );
}
