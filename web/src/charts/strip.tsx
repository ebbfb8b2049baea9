// Raw samples as dots, a row for each side, with the middle and its interval.
import type { JSX } from "preact";
import { colour } from "./fills";
import { duration } from "../numbers";
import { counted, durationTick } from "./figures";
import { type Area, marginFor, Plot, type Point, SHAPES, type Shape, shapePath, XAxis } from "./plot";
import { extentOf, linear, logarithmic } from "./scale";

export interface Strip {
  name: string;
  samples: readonly number[];
  middle: number | null;
  interval: readonly [number, number] | null;
}

const ROW = 62;
const MOST_SAMPLES = 2000;

/** A number from 0 to 1 that looks random and is the same each time: the place of a dot across its row. */
function scatter(i: number): number {
  return ((i * 0.6180339887) % 1 + 1) % 1;
}

export function StripPlot(props: { title: string; strips: readonly Strip[]; children?: JSX.Element | null }): JSX.Element {
  const strips = props.strips.map((strip) => ({ ...strip, samples: strip.samples.slice(0, MOST_SAMPLES) }));
  const extent = extentOf(strips.flatMap((strip) => [...strip.samples, strip.middle, ...(strip.interval ?? [])]));
  const apart = extent !== null && extent.low > 0 && extent.high / extent.low > 5;
  const words = (strip: Strip): string =>
    `${strip.name}: ${counted(strip.samples.length, "sample")}` +
    (strip.middle === null ? "" : `, median ${duration(strip.middle)}`) +
    (strip.interval ? `, interval ${duration(strip.interval[0])} to ${duration(strip.interval[1])}` : "") +
    ".";
  const draw = (area: Area): { marks: JSX.Element; points: Point[] } => {
    const x = (apart ? logarithmic : linear)(extent ?? { low: 0, high: 1 }, area.left, area.right, durationTick, { spacing: 76 });
    const points: Point[] = [];
    const marks = strips.map((strip, row) => {
      const middle = area.top + ROW * (row + 0.5);
      const dots = strip.samples.map((sample, i) => {
        const y = middle - 14 + scatter(i) * 24;
        points.push({ x: x.at(sample), y, label: `${strip.name}, sample ${i + 1}: ${duration(sample)}` });
        return shapePath(SHAPES[row % SHAPES.length] as Shape, x.at(sample), y, 3);
      });
      return (
        <g>
          <text class="row-name" x={4} y={middle - 2}>
            {strip.name}
          </text>
          <path d={dots.join("")} class="sample" fill={colour(row)} />
          {strip.interval && (
            <path
              class="interval"
              stroke={colour(row)}
              d={`M${x.at(strip.interval[0])} ${middle + 20}H${x.at(strip.interval[1])}M${x.at(strip.interval[0])} ${middle + 16}v8M${x.at(strip.interval[1])} ${middle + 16}v8`}
            />
          )}
          {strip.middle !== null && <path class="mean" d={`M${x.at(strip.middle)} ${middle - 16}v42`} />}
        </g>
      );
    });
    return {
      marks: (
        <>
          <XAxis area={area} scale={x} name={apart ? "time, logarithmic" : "time"} />
          {marks}
        </>
      ),
      points,
    };
  };
  return (
    <Plot
      title={props.title}
      level={3}
      summary={strips.map(words).join(" ")}
      height={strips.length * ROW + 56}
      margin={{ left: marginFor(strips.map((strip) => strip.name)), top: 8, bottom: 44, right: 28 }}
      draw={draw}
      table={{
        head: ["side", "sample", "time"],
        rows: strips.flatMap((strip) => strip.samples.map((sample, i) => [strip.name, String(i + 1), duration(sample)])),
      }}
    >
      {props.children}
    </Plot>
  );
}
