// The headline figures, each with its interval and its claim.
import type { JSX } from "preact";
import { between, counted, shareText } from "../charts/figures";
import type { ClaimFigure } from "../claims";
import { count, percent, times } from "../numbers";
import type { Report } from "../report";
import type { Speeds } from "../selection";
import { type Estimate, type FastPoint, PENDING } from "../statistics";
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

/** Why no speed is known, in the words of an empty chart. */
export function whyNoSpeed(of: Report, rows: readonly number[], column: "speedup" | "compile_speedup"): string {
  const right = rows.filter((row) => of.rows.value("standing", row) === "right");
  if (right.length === 0) return "No answer is right.";
  if (right.every((row) => of.rows.value("trust", row) === "interpreter")) return "Speed was not measured: no GPU.";
  return column === "compile_speedup"
    ? "Speed against torch.compile was not measured: --baseline compile measures it."
    : "Speed was not measured for any right answer.";
}

function FastFigure(props: { of: Report; rows: readonly number[]; speeds: Speeds; p: number; name: string; figure: ClaimFigure; column: "speedup" | "compile_speedup" }): JSX.Element | null {
  const point = at(props.speeds, props.p);
  if (!point) return null;
  const none = props.p > 0 && props.speeds.tasks.every((task) => task.speedups.length === 0) && point.unknownSpeeds > 0;
  if (none) return <Figure name={props.name} value="–" range="" note={whyNoSpeed(props.of, props.rows, props.column)} />;
  const unknown = point.share.value === null && point.atLeast.value !== null && point.atMost.value !== null;
  return (
    <Figure
      name={props.name}
      value={point.share.value === null ? (unknown ? `${percent(point.atLeast.value, 1)} to ${percent(point.atMost.value, 1)}` : "–") : shareText(point.share.value)}
      range={unknown ? `${counted(point.unknownSpeeds, "speed")} of right answers unknown` : rangeOf(point.share, shareText)}
      note={`${count(point.faster)} of ${counted(point.samples, "sample")}, ${counted(props.speeds.curve.tasks, "task")}`}
      claim={<ClaimLine of={props.of} figure={props.figure} estimate={point.share} rows={props.rows} bounds={unknown ? `between ${shareText(point.atLeast.value!)} and ${shareText(point.atMost.value!)} (${counted(point.unknownSpeeds, "speed")} unknown)` : null} />}
    />
  );
}

function MeanFigure(props: { of: Report; rows: readonly number[]; speeds: Speeds; name: string; figure: ClaimFigure; column: "speedup" | "compile_speedup" }): JSX.Element {
  const { mean } = props.speeds;
  if (mean.value === null) return <Figure name={props.name} value="–" range="" note={whyNoSpeed(props.of, props.rows, props.column)} />;
  return (
    <Figure
      name={props.name}
      value={times(mean.value)}
      range={rangeOf(mean, times)}
      note={`geometric mean, ${counted(mean.tasks, "task")} with a right answer of known speed`}
      claim={<ClaimLine of={props.of} figure={props.figure} estimate={mean} rows={props.rows} />}
    />
  );
}

export function Headline(props: { of: Report; rows: readonly number[]; eager: Speeds; compiled: Speeds | null }): JSX.Element {
  const { of, rows, eager, compiled } = props;
  const reached = eager.curve;
  return (
    <div class="headlines">
      <FastFigure of={of} rows={rows} speeds={eager} p={0} name="Right (fast_0)" figure="fast_0" column="speedup" />
      <FastFigure of={of} rows={rows} speeds={eager} p={1} name="Right and faster (fast_1)" figure="fast_1" column="speedup" />
      <MeanFigure of={of} rows={rows} speeds={eager} name="Speed-up" figure="geometric_mean_speedup" column="speedup" />
      {compiled && (
        <>
          <FastFigure of={of} rows={rows} speeds={compiled} p={1} name="fast_1 against torch.compile" figure="fast_1_compile" column="compile_speedup" />
          <MeanFigure of={of} rows={rows} speeds={compiled} name="Speed-up over torch.compile" figure="geometric_mean_compile_speedup" column="compile_speedup" />
        </>
      )}
      <Figure
        name="Not judged"
        value={count(reached.samplesNotJudged)}
        range={reached.samplesNotJudged === 0 ? "Every sample was judged." : "Left out of every share; faults are listed below."}
        note={`${counted(rows.length, "sample")} of ${counted(eager.tasks.length, "task")}${reached.tasksNotJudged > 0 ? `, ${counted(reached.tasksNotJudged, "task")} without any judged sample` : ""}`}
      />
    </div>
  );
}
