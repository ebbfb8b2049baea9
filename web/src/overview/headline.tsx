// The headline figures, each with its interval and its claim.
import type { JSX } from "preact";
import { between, counted, shareText } from "../charts/figures";
import type { ClaimFigure } from "../claims";
import { count, percent, times } from "../numbers";
import type { Report } from "../report";
import { endedRows, faults, hasSpeeds, type SpeedColumn, type Speeds, whyNoSpeed } from "../selection";
import { type Estimate, type FastCurve, type FastPoint, PENDING } from "../statistics";
import { ClaimLine } from "./claim";

function Figure(props: {
  name: string;
  value: string;
  range: string;
  note: string;
  claim?: JSX.Element | null;
}): JSX.Element {
  return (
    <article class="card headline">
      <h3>{props.name}</h3>
      <p class="headline-value">{props.value}</p>
      <p class="headline-range">{props.range}</p>
      <p class="mute">{props.note}</p>
      {props.claim}
    </article>
  );
}

function at(speeds: Speeds, p: number): FastPoint | null {
  return speeds.curve.points.find((point) => point.p === p) ?? null;
}

function rangeOf(estimate: Estimate, write: (value: number) => string): string {
  if (estimate.interval) return `95% interval ${between(estimate.interval, write)}`;
  if (estimate.why === PENDING) return "95% interval: …";
  return estimate.why ? `No interval: ${estimate.why}.` : "";
}

const COMPILE_HELP = "--baseline compile measures it";

function whyNotMeasured({ of, rows, column }: Sample): string {
  return `Speed was not measured: ${column === "speedup" ? whyNoSpeed(of, rows) : COMPILE_HELP}.`;
}

/** The rows that figures are about. */
interface Sample {
  of: Report;
  rows: readonly number[];
  /** The number of the source of all rows, where the report has several. */
  source: number | null;
  speeds: Speeds;
  column: SpeedColumn;
}

/** "13 samples", "13 samples that have ended". */
function samplesText(samples: number, unfinished: number): string {
  return counted(samples, "sample") + (unfinished > 0 ? " that have ended" : "");
}

function FastFigure(props: Sample & { p: number; name: string; figure: ClaimFigure }): JSX.Element | null {
  const { of, rows, source, speeds } = props;
  const point = at(speeds, props.p);
  if (!point) return null;
  if (props.p > 0 && !hasSpeeds(speeds.tasks)) return <Figure name={props.name} value="not measured" range="" note={whyNotMeasured(props)} />;
  const unknown = point.share.value === null && point.atLeast.value !== null && point.atMost.value !== null;
  const unfinished = rows.length - endedRows(of, rows).length;
  return (
    <Figure
      name={props.name}
      value={point.share.value === null ? (unknown ? `${percent(point.atLeast.value, 1)} to ${percent(point.atMost.value, 1)}` : "–") : shareText(point.share.value)}
      range={unknown ? `${counted(point.unknownSpeeds, "speed")} of right answers unknown` : rangeOf(point.share, shareText)}
      note={`${count(point.faster)} of ${samplesText(point.samples, unfinished)}, ${counted(speeds.curve.tasks, "task")}`}
      claim={point.samples === 0 ? null : <ClaimLine of={of} figure={props.figure} estimate={point.share} rows={rows} source={source} bounds={unknown ? `between ${shareText(point.atLeast.value!)} and ${shareText(point.atMost.value!)} (${counted(point.unknownSpeeds, "speed")} unknown)` : null} />}
    />
  );
}

function MeanFigure(props: Sample & { name: string; figure: ClaimFigure }): JSX.Element {
  const { mean } = props.speeds;
  if (mean.value === null) return <Figure name={props.name} value="not measured" range="" note={whyNotMeasured(props)} />;
  return (
    <Figure
      name={props.name}
      value={times(mean.value)}
      range={rangeOf(mean, times)}
      note={`geometric mean, ${counted(mean.tasks, "task")} with a right answer of known speed`}
      claim={<ClaimLine of={props.of} figure={props.figure} estimate={mean} rows={props.rows} source={props.source} />}
    />
  );
}

function NotJudged({ of, rows, curve, tasks }: { of: Report; rows: readonly number[]; curve: FastCurve; tasks: number }): JSX.Element {
  const hasFaults = faults(of, rows).size > 0;
  const ended = endedRows(of, rows).length;
  return (
    <Figure
      name="Not judged"
      value={count(curve.samplesNotJudged)}
      range={curve.samplesNotJudged > 0 ? `Left out of every share${hasFaults ? "; faults are listed below" : ""}.` : ended === 0 ? "No sample has ended." : ended < rows.length ? "Every sample that has ended was judged." : "Every sample was judged."}
      note={`${samplesText(ended, rows.length - ended)} of ${counted(tasks, "task")}${curve.tasksNotJudged > 0 ? `, ${counted(curve.tasksNotJudged, "task")} without any judged sample` : ""}`}
    />
  );
}

export function Headline(props: { of: Report; rows: readonly number[]; source: number | null; eager: Speeds; compiled: Speeds | null }): JSX.Element {
  const { of, rows, source, eager, compiled } = props;
  const ended = endedRows(of, rows).length;
  const sample: Sample = { of, rows, source, speeds: eager, column: "speedup" };
  return (
    <div class="headlines">
      <FastFigure {...sample} p={0} name="Right (fast_0)" figure="fast_0" />
      <FastFigure {...sample} p={1} name="Right and faster (fast_1)" figure="fast_1" />
      <MeanFigure {...sample} name="Speed-up" figure="geometric_mean_speedup" />
      {compiled && (
        <>
          <FastFigure {...sample} speeds={compiled} column="compile_speedup" p={1} name="fast_1 against torch.compile" figure="fast_1_compile" />
          <MeanFigure {...sample} speeds={compiled} column="compile_speedup" name="Speed-up over torch.compile" figure="geometric_mean_compile_speedup" />
        </>
      )}
      {ended < rows.length && (
        <Figure name="Unfinished" value={count(rows.length - ended)} range="Left out of every share: these samples have not ended." note={`${count(ended)} of ${counted(rows.length, "sample")} ${ended === 1 ? "has" : "have"} ended`} />
      )}
      <NotJudged of={of} rows={rows} curve={eager.curve} tasks={eager.tasks.length} />
    </div>
  );
}
