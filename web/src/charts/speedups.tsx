// Speed-ups of right answers on a logarithmic axis: a dot for each, or bars where there are many.
import type { JSX } from "preact";
import type { Estimate } from "../statistics";
import { colour } from "./fills";
import { times } from "../numbers";
import { between, counted, short } from "./figures";
import { type Area, Plot, type Point, XAxis, YAxis } from "./plot";
import { linear, logarithmic } from "./scale";

export interface SpeedupMark {
  name: string;
  speedup: number;
  low: number | null;
  high: number | null;
  href: string;
}

const MOST_DOTS = 600;

interface Drawn {
  marks: JSX.Element;
  points: Point[];
}

function wordsOf(mark: SpeedupMark): string {
  const range = mark.low !== null && mark.high !== null ? ` (${short(mark.low)} to ${times(mark.high)})` : "";
  return `${mark.name}: ${times(mark.speedup)}${range}`;
}

export interface SpeedupTexts {
  title: string;
  axis: string;
  mean: string;
  one: string; // "speed-up"
}

const SPEEDUPS: SpeedupTexts = { title: "Speed-ups of right answers", axis: "times as fast as the reference", mean: "geometric mean", one: "speed-up" };

export function SpeedupChart(props: { marks: readonly SpeedupMark[]; mean: Estimate | null; texts?: SpeedupTexts; children?: JSX.Element | null }): JSX.Element {
  const texts = props.texts ?? SPEEDUPS;
  const { marks, mean } = props;
  const draw = (area: Area): Drawn => {
    const speedups = marks.map((mark) => mark.speedup);
    const x = logarithmic(
      { low: Math.min(1, ...speedups.slice(0, 1), least(speedups)), high: Math.max(1, most(speedups)) },
      area.left,
      area.right,
      (value) => `${short(value)}×`,
    );
    const drawn = marks.length <= MOST_DOTS ? dots(marks, area, x.at) : bars(marks, area, x.at);
    return {
      marks: (
        <>
          <XAxis area={area} scale={x} name={texts.axis} />
          {drawn.marks}
          <line class="even" x1={x.at(1)} x2={x.at(1)} y1={area.top} y2={area.bottom} />
          {mean?.value != null && (
            <g>
              {mean.interval && (
                <rect
                  class="mean-interval"
                  x={x.at(mean.interval.low)}
                  width={Math.max(x.at(mean.interval.high) - x.at(mean.interval.low), 1)}
                  y={area.top - 14}
                  height={8}
                />
              )}
              <path class="mean" d={`M${x.at(mean.value)} ${area.top - 16}v12`} />
              <text class="tick" {...besideMean(x.at(mean.interval?.low ?? mean.value), x.at(mean.interval?.high ?? mean.value), area)} y={area.top - 7}>
                {texts.mean} {times(mean.value)}
              </text>
            </g>
          )}
        </>
      ),
      points: drawn.points,
    };
  };
  const sorted = [...marks].sort((a, b) => b.speedup - a.speedup);
  return (
    <Plot
      title={texts.title}
      summary={
        marks.length === 0
          ? `No ${texts.one} is known.`
          : `${counted(marks.length, texts.one)} from ${times(least(marks.map((m) => m.speedup)))} to ${times(most(marks.map((m) => m.speedup)))}.` +
            (mean?.value != null ? ` ${texts.mean} ${times(mean.value)}${mean.interval ? `, 95% interval ${between(mean.interval, times)}` : ""}.` : "")
      }
      height={240}
      margin={{ left: 34, right: 20, top: 34, bottom: 40 }}
      draw={draw}
      table={{
        head: ["task", texts.one, "interval"],
        rows: sorted.map((mark) => [
          mark.name,
          times(mark.speedup),
          mark.low !== null && mark.high !== null ? `${short(mark.low)} to ${short(mark.high)}` : "",
        ]),
      }}
    >
      {props.children}
    </Plot>
  );
}

const MEAN_LABEL_PIXELS = 150;

/** The label of the mean stands to the right of its interval, or to the left where there is no room. */
function besideMean(low: number, high: number, area: Area): { x: number; "text-anchor": "start" | "end" } {
  return high + MEAN_LABEL_PIXELS <= area.width ? { x: high + 6, "text-anchor": "start" } : { x: low - 6, "text-anchor": "end" };
}

function least(values: readonly number[]): number {
  return values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY);
}

function most(values: readonly number[]): number {
  return values.reduce((high, value) => Math.max(high, value), 0);
}

// Dots stacked over their place on the axis.
function dots(marks: readonly SpeedupMark[], area: Area, at: (value: number) => number): Drawn {
  const height = area.bottom - area.top - 6;
  let radius = 5;
  let columns = new Map<number, SpeedupMark[]>();
  for (; radius >= 1.5; radius -= 0.5) {
    columns = new Map();
    for (const mark of marks) {
      const column = Math.round(at(mark.speedup) / (2 * radius + 1));
      const list = columns.get(column);
      if (list) list.push(mark);
      else columns.set(column, [mark]);
    }
    const tallest = Math.max(0, ...[...columns.values()].map((list) => list.length));
    if (tallest * (2 * radius + 1) <= height) break;
  }
  const points: Point[] = [];
  let faster = "";
  let slower = "";
  for (const list of columns.values()) {
    list.sort((a, b) => a.speedup - b.speedup);
    list.forEach((mark, i) => {
      const x = at(mark.speedup);
      const y = Math.max(area.bottom - radius - 2 - i * (2 * radius + 1), area.top);
      points.push({ x, y, label: wordsOf(mark), href: mark.href });
      const circle = `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
      if (mark.speedup > 1) faster += circle;
      else slower += circle;
    });
  }
  return {
    marks: (
      <>
        <path d={faster} fill={colour(0)} />
        <path d={slower} class="hollow" stroke={colour(1)} />
      </>
    ),
    points,
  };
}

function bars(marks: readonly SpeedupMark[], area: Area, at: (value: number) => number): Drawn {
  const width = 8;
  const bins = new Map<number, number[]>();
  for (const mark of marks) {
    const bin = Math.floor((at(mark.speedup) - area.left) / width);
    const list = bins.get(bin);
    if (list) list.push(mark.speedup);
    else bins.set(bin, [mark.speedup]);
  }
  const tallest = Math.max(1, ...[...bins.values()].map((list) => list.length));
  const y = linear({ low: 0, high: tallest }, area.bottom, area.top, short, { spacing: 40, whole: true });
  const points: Point[] = [];
  const drawn = [...bins].map(([bin, list]) => {
    const x = area.left + bin * width;
    const top = y.at(list.length);
    points.push({ x: x + width / 2, y: top, label: `${counted(list.length, "answer")} from ${times(least(list))} to ${times(most(list))}` });
    const fast = least(list) > 1;
    return <rect class={fast ? "bar" : "bar bar-slower"} x={x} width={width - 1} y={top} height={area.bottom - top} fill={fast ? colour(0) : colour(1)} />;
  });
  return {
    marks: (
      <>
        <YAxis area={area} scale={y} />
        {drawn}
      </>
    ),
    points,
  };
}
