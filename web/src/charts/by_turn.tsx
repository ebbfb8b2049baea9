// Figures by turn: the cumulative share of right samples, and the classes of errors.
import type { JSX } from "preact";
import type { Estimate } from "../statistics";
import { colour, useFills } from "./fills";
import { count, percent } from "../numbers";
import { between, counted, durationTick, shareText } from "./figures";
import { type Area, BandAxis, Plot, type Point, shapePath, YAxis } from "./plot";
import { Text } from "../text";
import { bands, linear } from "./scale";

export interface TurnShare {
  turn: number;
  samples: number;
  right: number;
  estimate: Estimate;
}

export function RightByTurnChart(props: { turns: readonly TurnShare[]; children?: JSX.Element | null }): JSX.Element {
  const { turns } = props;
  const words = (one: TurnShare): string =>
    `Turn ${one.turn}: ${count(one.right)} of ${counted(one.samples, "sample")} right by then` +
    (one.estimate.value === null ? "." : `; mean over tasks ${shareText(one.estimate.value)}`) +
    (one.estimate.interval ? `, 95% interval ${between(one.estimate.interval, shareText)}.` : ".");
  const draw = (area: Area): { marks: JSX.Element; points: Point[] } => {
    const x = bands(turns.length, area.left, area.right);
    const y = linear({ low: 0, high: 1 }, area.bottom, area.top, (value) => percent(value), { spacing: 40, fixed: true });
    const points = turns.map((one, i) => ({ x: x.middle(i), y: y.at(one.estimate.value ?? 0), label: words(one) }));
    return {
      marks: (
        <>
          <YAxis area={area} scale={y} name="share right by this turn" />
          <BandAxis area={area} bands={x} labels={turns.map((one) => String(one.turn))} name="turn" />
          <path class="curve" stroke={colour(0)} d={points.map((point, i) => `${i === 0 ? "M" : "L"}${point.x} ${point.y}`).join("")} />
          {turns.map((one, i) =>
            one.estimate.interval ? (
              <line
                class="whisker"
                stroke={colour(0)}
                x1={x.middle(i)}
                x2={x.middle(i)}
                y1={y.at(one.estimate.interval.low)}
                y2={y.at(one.estimate.interval.high)}
              />
            ) : null,
          )}
          <path fill={colour(0)} d={points.map((point) => shapePath("circle", point.x, point.y, 4)).join("")} />
          {x.width > 70 &&
            turns.map((one, i) => {
              if (one.estimate.value === null) return null;
              // The curve never falls: it does not pass to the right below a point, nor to the left above it. The latter is for points near the axis.
              const isLow = one.estimate.value < 0.1;
              return (
                <text class="value" x={x.middle(i) + (isLow ? -7 : 7)} y={y.at(one.estimate.value) + (isLow ? -7 : 16)} text-anchor={isLow ? "end" : "start"}>
                  {percent(one.estimate.value)}
                </text>
              );
            })}
        </>
      ),
      points,
    };
  };
  return (
    <Plot
      title="Right by turn, cumulative"
      summary={turns.map(words).join(" ")}
      height={220}
      margin={{ left: 46, top: 32, bottom: 40 }}
      draw={draw}
      table={{
        head: ["turn", "samples", "right by then", "share", "95% interval"],
        rows: turns.map((one) => [
          String(one.turn),
          count(one.samples),
          count(one.right),
          one.estimate.value === null ? "" : shareText(one.estimate.value),
          between(one.estimate.interval, shareText),
        ]),
      }}
    >
      {props.children}
    </Plot>
  );
}

export interface Stack {
  label: string; // below the stack
  values: readonly number[]; // of each part
}

/** Stacks of counts with the same parts, such as error classes by turn. */
export function StackChart(props: {
  title: string;
  noun: string; // "turn"
  axis: string; // "turns"
  write?: (value: number) => string;
  /** Values are milliseconds. */
  time?: boolean;
  parts: readonly string[];
  stacks: readonly Stack[];
  /** A link of a part, such as the filter by its error class. */
  hrefOf?: (part: number) => string | undefined;
  /** What the link does. */
  does?: string;
  children?: JSX.Element | null;
}): JSX.Element {
  const { parts, stacks } = props;
  const write = props.write ?? count;
  const fills = useFills();
  // Labels of the vertical axis may be long.
  const left = Math.min(130, Math.max(46, write(Math.max(0, ...stacks.map((stack) => stack.values.reduce((a, b) => a + b, 0)))).length * 7 + 14));
  const sums = stacks.map((stack) => stack.values.reduce((sum, value) => sum + value, 0));
  const draw = (area: Area): { marks: JSX.Element; points: Point[] } => {
    const x = bands(stacks.length, area.left, area.right);
    const y = linear({ low: 0, high: Math.max(1, ...sums) }, area.bottom, area.top, props.time ? durationTick : count, { spacing: 40, whole: !props.time, time: props.time ?? false });
    // All bars have their numbers, or none has: a bar is as wide as the longest one needs, where there is room.
    const longest = Math.max(0, ...stacks.flatMap((stack) => stack.values.map((value) => write(value).length))) * 7 + 6;
    const width = Math.min(x.width * 0.9, Math.max(longest, Math.min(x.width * 0.72, 72)));
    const points: Point[] = [];
    const marks = stacks.map((stack, i) => {
      let below = 0;
      return (
        <g>
          {stack.values.map((value, part) => {
            if (value <= 0) return null;
            const bottom = y.at(below);
            const top = y.at(below + value);
            below += value;
            points.push({
              x: x.middle(i),
              y: (bottom + top) / 2,
              label: `${props.noun} ${stack.label}, ${parts[part]}: ${write(value)} ${props.time ? "" : `${props.axis} `}(${shareText(value / sums[i]!)} of ${write(sums[i]!)})`,
              href: props.hrefOf?.(part),
              does: props.does ?? "opens it",
              box: { left: x.middle(i) - width / 2, right: x.middle(i) + width / 2, top, bottom },
            });
            const height = Math.max(bottom - top - 2, 0.5);
            return (
              <g>
                <rect x={x.middle(i) - width / 2} y={top} width={width} height={height} fill={fills.of(part)} stroke={colour(part)} class="stack" />
                {height >= 15 && width >= longest && (
                  <text class="in-bar" x={x.middle(i)} y={top + height / 2 + 4} text-anchor="middle">
                    {write(value)}
                  </text>
                )}
              </g>
            );
          })}
        </g>
      );
    });
    return {
      marks: (
        <>
          {fills.definitions}
          <YAxis area={area} scale={y} name={props.axis} />
          {marks}
          <BandAxis area={area} bands={x} labels={stacks.map((stack) => stack.label)} name={props.noun} />
        </>
      ),
      points,
    };
  };
  return (
    <Plot
      title={props.title}
      summary={stacks.map((stack) => `${props.noun} ${stack.label}: ${parts.map((part, i) => `${part} ${write(stack.values[i] ?? 0)}`).join(", ")}.`).join(" ")}
      height={240}
      margin={{ left, top: 32, bottom: 40 }}
      draw={draw}
      table={{
        head: [props.noun, ...parts],
        rows: stacks.map((stack) => [stack.label, ...stack.values.map(write)]),
      }}
    >
      {parts.length > 1 && (
        <ul class="legend">
          {parts.map((part, i) => (
            <li>
              <svg width={16} height={14} viewBox="0 0 16 14" aria-hidden="true">
                <rect x={1} y={1} width={14} height={12} fill={fills.of(i)} stroke={colour(i)} class="stack" />
              </svg>
              {props.hrefOf?.(i) ? <a href={props.hrefOf(i)}><Text value={part} /></a> : <Text value={part} />}
            </li>
          ))}
        </ul>
      )}
      {props.children}
    </Plot>
  );
}
