// fast_p: the share of tasks with a right answer more than p times as fast as the reference.
import type { JSX } from "preact";
import type { FastCurve, FastPoint } from "../statistics";
import { colour } from "./fills";
import { percent } from "../numbers";
import { between, counted, shareText, short } from "./figures";
import { type Area, Legend, Plot, type Point, type Shape, SHAPES, shapePath, XAxis, YAxis } from "./plot";
import { linear, logarithmic, type Scale, ticksAt } from "./scale";

export interface FastSeries {
  name: string;
  curve: FastCurve;
}

// p = 0 has no place on a logarithmic axis: it stands at the left end, apart.
function axis(area: Area, series: readonly FastSeries[]): Scale {
  const values = series.flatMap((one) => one.curve.points.map((point) => point.p)).filter((p) => p > 0);
  const gap = 36;
  const scale = logarithmic(
    { low: Math.min(...values, 0.5), high: Math.max(...values, 2) },
    area.left + gap,
    area.right - 8,
    short,
    { spacing: 34 },
  );
  const zero = area.left + 12;
  const at = (p: number): number => (p > 0 ? scale.at(p) : zero);
  // Where there is little room, the usual values of p first.
  const usual = [0, 1, 2, 10, 0.5, 5, 1.5, 3];
  return ticksAt({ ...scale, at }, [...usual.filter((p) => p === 0 || values.includes(p)), ...values], short, 26);
}

function words(point: FastPoint, name: string): string {
  const what = point.p === 0 ? "right at any speed" : `right and more than ${short(point.p)} times as fast`;
  const share =
    point.share.value === null
      ? `between ${shareText(point.atLeast.value ?? 0)} and ${shareText(point.atMost.value ?? 1)} (${counted(point.unknownSpeeds, "speed")} unknown)`
      : shareText(point.share.value);
  const range = point.share.interval ? `, 95% interval ${between(point.share.interval, shareText)} (${point.share.method})` : "";
  return `${name}, fast_${short(point.p)}: ${share} of ${counted(point.share.tasks, "task")} are ${what}${range}.`;
}

/** Whether the point has a share, or bounds of one. */
function isKnown(point: FastPoint): boolean {
  return point.share.value !== null || point.atLeast.value !== null;
}

/** The ends of the vertical bar of a point: its interval, or its bounds where speeds are unknown. */
function ends(point: FastPoint): { low: number; high: number } | null {
  if (point.share.value !== null) return point.share.interval;
  if (point.atLeast.value === null || point.atMost.value === null) return null;
  return { low: point.atLeast.value, high: point.atMost.value };
}

// Between the bounds of a point of unknown share.
function middle(point: FastPoint): number {
  return ((point.atLeast.value ?? 0) + (point.atMost.value ?? 0)) / 2;
}

export function FastCurveChart(props: { series: readonly FastSeries[]; children?: JSX.Element | null }): JSX.Element {
  const series = props.series.map((one) => ({ ...one, curve: { ...one.curve, points: one.curve.points.filter(isKnown) } }));
  const draw = (area: Area): { marks: JSX.Element; points: Point[] } => {
    const x = axis(area, series);
    const y = linear({ low: 0, high: 1 }, area.bottom, area.top, (value) => percent(value), { spacing: 40, fixed: true });
    const points: Point[] = [];
    const drawn = series.map((one, i) => {
      const shift = (i - (series.length - 1) / 2) * 8;
      const places = one.curve.points.map((point) => {
        const value = point.share.value ?? null;
        const at = { x: x.at(point.p) + shift, y: y.at(value ?? middle(point)) };
        points.push({ ...at, label: words(point, one.name) });
        return { point, value, ...at };
      });
      const known = places.filter((place) => place.value !== null);
      return (
        <g>
          <path
            class={`curve curve-${i}`}
            stroke={colour(i)}
            d={known.map((place, k) => `${k === 0 || known[k - 1]?.point.p === 0 || places[places.indexOf(place) - 1]?.value === null ? "M" : "L"}${place.x} ${place.y}`).join("")}
          />
          {places.map((place) => {
            const range = ends(place.point);
            return range ? (
              <line
                class={place.value === null ? "bound" : "whisker"}
                stroke={colour(i)}
                x1={place.x}
                x2={place.x}
                y1={y.at(range.low)}
                y2={y.at(range.high)}
              />
            ) : null;
          })}
          <path fill={colour(i)} d={known.map((place) => shapePath(SHAPES[i % SHAPES.length] as Shape, place.x, place.y, 4)).join("")} />
        </g>
      );
    });
    return {
      marks: (
        <>
          <YAxis area={area} scale={y} name="share of tasks" />
          <XAxis area={area} scale={x} name="p: times as fast as the reference" />
          {drawn}
        </>
      ),
      points,
    };
  };
  const first = series[0]?.curve;
  return (
    <Plot
      title="fast_p: right and more than p times as fast"
      summary={series.map((one) => one.curve.points.filter((point) => [0, 1, 2].includes(point.p)).map((point) => words(point, one.name)).join(" ")).join(" ")}
      height={280}
      margin={{ left: 46, top: 32, bottom: 40 }}
      draw={draw}
      table={{
        head: ["p", ...series.flatMap((one) => [one.name, "95% interval", "at least", "at most"])],
        rows: (first?.points ?? []).map((point, i) => [
          short(point.p),
          ...series.flatMap((one) => {
            const of = one.curve.points[i];
            if (!of) return ["", "", "", ""];
            return [
              of.share.value === null ? "unknown" : shareText(of.share.value),
              between(of.share.interval, shareText),
              of.atLeast.value === null ? "" : shareText(of.atLeast.value),
              of.atMost.value === null ? "" : shareText(of.atMost.value),
            ];
          }),
        ]),
      }}
    >
      {series.length > 1 && (
        <Legend
          entries={series.map((one, i) => ({
            name: one.name,
            mark: (
              <>
                <line class={`curve curve-${i}`} stroke={colour(i)} x1={0} x2={22} y1={7} y2={7} />
                <path fill={colour(i)} d={shapePath(SHAPES[i % SHAPES.length] as Shape, 11, 7, 4)} />
              </>
            ),
          }))}
        />
      )}
      {props.children}
    </Plot>
  );
}
