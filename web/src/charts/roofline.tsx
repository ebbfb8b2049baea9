// How near the kernel is to the limit of the GPU's memory: both times and the least possible one, on one axis.
import type { JSX } from "preact";
import { colour } from "./fills";
import { duration } from "../numbers";
import { durationTick, shareText } from "./figures";
import { type Area, marginFor, Plot, type Point, type Shape, shapePath, XAxis } from "./plot";
import { extentOf, logarithmic } from "./scale";

export interface RooflineTimes {
  kernelMs: number;
  referenceMs: number | null;
  compiledMs: number | null;
  leastMs: number;
}

const ROW = 30;

export function Roofline(props: { times: RooflineTimes; children?: JSX.Element | null }): JSX.Element {
  const { kernelMs, referenceMs, compiledMs, leastMs } = props.times;
  const share = leastMs / kernelMs;
  const rows: { name: string; time: number; shape: Shape; series: number }[] = [
    { name: "least possible", time: leastMs, shape: "diamond", series: 2 },
    { name: "kernel", time: kernelMs, shape: "square", series: 1 },
  ];
  if (compiledMs !== null) rows.push({ name: "torch.compile", time: compiledMs, shape: "triangle", series: 3 });
  if (referenceMs !== null) rows.push({ name: "reference", time: referenceMs, shape: "circle", series: 0 });
  const draw = (area: Area): { marks: JSX.Element; points: Point[] } => {
    const x = logarithmic(extentOf(rows.map((row) => row.time), 0) ?? { low: 1, high: 10 }, area.left + 6, area.right - 80, durationTick, { spacing: 76 });
    const limit = x.at(leastMs);
    const points = rows.map((row, i) => ({
      x: x.at(row.time),
      y: area.top + ROW * (i + 0.5),
      label: `${row.name}: ${duration(row.time)}, ${shareText(leastMs / row.time)} of the memory's speed`,
    }));
    return {
      marks: (
        <>
          <XAxis area={area} scale={x} name="time, logarithmic" />
          <rect class="beyond" x={area.left} width={Math.max(limit - area.left, 0)} y={area.top} height={area.bottom - area.top} />
          <line class="limit" x1={limit} x2={limit} y1={area.top} y2={area.bottom} />
          {rows.map((row, i) => {
            const y = area.top + ROW * (i + 0.5);
            return (
              <g>
                <text class="row-name" x={4} y={y + 4}>
                  {row.name}
                </text>
                <line class="lead" x1={limit} x2={x.at(row.time)} y1={y} y2={y} />
                <path d={shapePath(row.shape, x.at(row.time), y, 5)} fill={colour(row.series)} />
                <text class="value" x={x.at(row.time) + 10} y={y + 4}>
                  {duration(row.time)}
                </text>
              </g>
            );
          })}
        </>
      ),
      points,
    };
  };
  return (
    <Plot
      title="Distance to the memory's limit"
      level={3}
      summary={`The kernel takes ${duration(kernelMs)}; moving its inputs and outputs takes at least ${duration(leastMs)}: ${shareText(share)} of the memory's speed.`}
      height={rows.length * ROW + 56}
      margin={{ left: marginFor(rows.map((row) => row.name)), top: 6, bottom: 44, right: 16 }}
      draw={draw}
      table={{ head: ["side", "time", "share of the memory's speed"], rows: rows.map((row) => [row.name, duration(row.time), shareText(leastMs / row.time)]) }}
    >
      {props.children}
    </Plot>
  );
}
