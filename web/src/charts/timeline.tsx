// Launches of one call by stream. Where starts are not measured, they follow one another: as long as they took, or one step each.
import type { JSX } from "preact";
import { plain, Text } from "../text";
import { colour, useFills } from "./fills";
import { duration, significant } from "../numbers";
import { counted, durationTick } from "./figures";
import { type Area, fitted, marginFor, Plot, type Point, XAxis } from "./plot";
import { linear } from "./scale";

export interface TimelineLaunch {
  name: string;
  origin: string;
  stream: number | null;
  startMs: number | null;
  timeMs: number | null;
  label: string;
}

const ROW = 34;

type Axis = "starts" | "times" | "order";

const AXES: Record<Axis, string> = {
  starts: "time from the call's begin",
  times: "time of each, in their order (starts not recorded)",
  order: "order of launches (starts not recorded)",
};

export function axisOf(launches: readonly TimelineLaunch[]): Axis {
  const isTimed = launches.length > 0 && launches.every((launch) => launch.timeMs !== null) && launches.some((launch) => launch.timeMs! > 0);
  if (!isTimed) return "order";
  return launches.every((launch) => launch.startMs !== null) ? "starts" : "times";
}

/** Where each launch begins and ends on its axis. */
export function spansOf(launches: readonly TimelineLaunch[], axis: Axis): { from: number; to: number }[] {
  if (axis === "starts") return launches.map((launch) => ({ from: launch.startMs!, to: launch.startMs! + launch.timeMs! }));
  let end = 0;
  return launches.map((launch) => ({ from: end, to: (end += axis === "times" ? launch.timeMs! : 1) }));
}

export function Timeline(props: {
  title: string;
  launches: readonly TimelineLaunch[];
  /** Name of the row of launches without a stream. */
  withoutStream: string;
  children?: JSX.Element | null;
}): JSX.Element {
  const { launches } = props;
  const fills = useFills();
  const streams = [...new Set(launches.map((launch) => launch.stream))].sort((a, b) => (a ?? 1e9) - (b ?? 1e9));
  const origins = [...new Set(launches.map((launch) => launch.origin))].sort();
  const axis = axisOf(launches);
  const timed = axis !== "order";
  const spans = spansOf(launches, axis);
  const end = spans.reduce((most, span) => Math.max(most, span.to), 0);
  const begin = Math.min(0, ...spans.map((span) => span.from).slice(0, 1000));
  const nameOf = (stream: number | null): string => (stream === null ? props.withoutStream : `stream ${stream}`);
  const known = streams.filter((stream) => stream !== null).length;
  const where = [...(known > 0 ? [`on ${counted(known, "stream")}`] : []), ...(known < streams.length ? [known > 0 ? "and others of unknown stream" : `(${props.withoutStream})`] : [])].join(" ");
  const draw = (area: Area): { marks: JSX.Element; points: Point[] } => {
    const x = timed
      ? linear({ low: begin, high: end }, area.left, area.right, durationTick, { fixed: true, spacing: 76 })
      : linear({ low: 0, high: Math.max(launches.length, 1) }, area.left, area.right, (value) => String(value), { fixed: true, whole: true, spacing: 40 });
    const points: Point[] = [];
    const marks = launches.map((launch, i) => {
      const row = streams.indexOf(launch.stream);
      const top = area.top + row * ROW + 6;
      const left = x.at(spans[i]!.from);
      const width = Math.max(x.at(spans[i]!.to) - left - (timed ? 0.5 : 2), 2);
      points.push({ x: left + width / 2, y: top + 11, label: launch.label });
      return (
        <g>
          <rect x={left} y={top} width={width} height={22} rx={2} fill={fills.of(origins.indexOf(launch.origin))} stroke={colour(origins.indexOf(launch.origin))} class="stack" />
          {width > 44 && (
            <text class="in-bar" x={left + 5} y={top + 15}>
              {fitted(plain(launch.name), width - 14)}
            </text>
          )}
        </g>
      );
    });
    return {
      marks: (
        <>
          {fills.definitions}
          <XAxis area={area} scale={x} name={AXES[axis]} />
          {streams.map((stream, i) => (
            <text class="row-name" x={4} y={area.top + i * ROW + 21}>
              {nameOf(stream)}
            </text>
          ))}
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
      summary={`${counted(launches.length, "launch", "launches")} ${where}${timed ? ` in ${duration(end - begin)}` : ""}. ${origins
        .map((origin) => `${origin}: ${significant(launches.filter((launch) => launch.origin === origin).length)}`)
        .join(", ")}.`}
      height={streams.length * ROW + 60}
      margin={{ left: marginFor(streams.map((stream) => `${nameOf(stream)} `), 70), top: 8, bottom: 44, right: 28 }}
      draw={draw}
    >
      <ul class="legend">
        {origins.map((origin, i) => (
          <li>
            <svg width={16} height={14} viewBox="0 0 16 14" aria-hidden="true">
              <rect x={1} y={1} width={14} height={12} fill={fills.of(i)} stroke={colour(i)} class="stack" />
            </svg>
            <Text value={origin} limit={80} />
          </li>
        ))}
      </ul>
      {props.children}
    </Plot>
  );
}
