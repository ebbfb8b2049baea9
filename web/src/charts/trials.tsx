// The largest error of each trial against its limit: 1 is the most that is allowed.
import type { JSX } from "preact";
import { colour } from "./fills";
import { significant } from "../numbers";
import { counted, short } from "./figures";
import { type Area, Plot, type Point, shapePath, XAxis, YAxis } from "./plot";
import { extentOf, linear, logarithmic } from "./scale";

export interface TrialMark {
  index: number;
  /** Error over limit; infinite where a value is not finite on one side; null: not recorded. */
  overLimit: number | null;
  passed: boolean | null;
  label: string;
}

export function TrialChart(props: { trials: readonly TrialMark[]; children?: JSX.Element | null }): JSX.Element {
  const marks = props.trials.filter((trial) => trial.overLimit !== null);
  const finite = marks.map((trial) => trial.overLimit).filter((value): value is number => value !== null && Number.isFinite(value) && value > 0);
  const draw = (area: Area): { marks: JSX.Element; points: Point[] } => {
    const found = extentOf(finite) ?? { low: 0.1, high: 1 };
    const extent = { low: Math.max(Math.min(found.low, 0.5), 1e-12), high: Math.max(found.high * 1.5, 2) };
    const y = logarithmic(extent, area.bottom - 10, area.top + 6, short, { spacing: 26 });
    const indices = extentOf(props.trials.map((trial) => trial.index)) ?? { low: 0, high: 1 };
    const x = linear({ low: indices.low - 0.5, high: indices.high + 0.5 }, area.left, area.right, String, { fixed: true, whole: true, spacing: 40 });
    // An error of 0 stands at the bottom, an infinite one at the top.
    const place = (trial: TrialMark): Point => ({
      x: x.at(trial.index),
      y: trial.overLimit === 0 ? area.bottom - 5 : Number.isFinite(trial.overLimit) ? y.at(trial.overLimit ?? 0) : area.top + 2,
      label: trial.label,
    });
    const points = marks.map(place);
    const limit = y.at(1);
    const of = (passed: boolean): Point[] => points.filter((_, i) => (marks[i]?.passed !== false) === passed);
    return {
      marks: (
        <>
          <YAxis area={area} scale={y} name="error over limit" />
          <XAxis area={area} scale={x} name="trial" grid={false} />
          <rect class="beyond" x={area.left} y={area.top} width={area.right - area.left} height={Math.max(limit - area.top, 0)} />
          <line class="limit" x1={area.left} x2={area.right} y1={limit} y2={limit} />
          <text class="tick" x={area.right} y={limit - 5} text-anchor="end">
            limit
          </text>
          <path fill={colour(0)} d={of(true).map((point) => shapePath("circle", point.x, point.y, 4)).join("")} />
          <path class="cross" d={of(false).map((point) => shapePath("cross", point.x, point.y, 4.5)).join("")} />
        </>
      ),
      points,
    };
  };
  const failed = props.trials.filter((trial) => trial.passed === false).length;
  const worst = marks.reduce<number | null>((most, trial) => (trial.overLimit !== null && (most === null || trial.overLimit > most) ? trial.overLimit : most), null);
  return (
    <Plot
      title="Error of each trial against its limit"
      level={3}
      summary={`${counted(props.trials.length, "trial")}, ${failed} failed. ${worst === null ? "No error is recorded." : `The largest error is ${significant(worst)} times the limit.`}`}
      height={210}
      margin={{ left: 52, top: 32, bottom: 40 }}
      draw={draw}
    >
      {props.children}
    </Plot>
  );
}
