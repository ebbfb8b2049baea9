// The frame of a chart: its title, a drawing as wide as its place, a line that reads out the chosen point, and
// the same figures as a table.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { go } from "../state";
import { Text, plain } from "../text";
import type { Bands, Scale } from "./scale";
import "./charts.css";

export interface Area {
  width: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** A point that the pointer and the arrow keys reach. */
export interface Point {
  x: number;
  y: number;
  /** What the line below the chart says of it. */
  label: string;
  /** A fragment to go to. */
  href?: string | undefined;
  /** What going there does. */
  does?: string;
  /** Where a bar has a size, all of it is the point. */
  box?: { left: number; right: number; top: number; bottom: number };
}

export interface ChartTable {
  head: readonly string[];
  rows: readonly (readonly string[])[];
}

export interface PlotProps {
  title: string;
  /** One sentence for those who do not see the drawing. */
  summary: string;
  height: number;
  margin?: { left?: number; right?: number; top?: number; bottom?: number };
  /** Draws into the area; the points that it returns can be chosen. */
  draw: (area: Area) => { marks: ComponentChildren; points?: readonly Point[] };
  table?: ChartTable | undefined;
  /** Below the drawing: legend, claim. */
  children?: ComponentChildren;
  level?: 2 | 3;
}

const MOST_TABLE_ROWS = 500;

/** The width of an element in pixels, kept up to date. */
export function useWidth(first = 640): { ref: { current: HTMLDivElement | null }; width: number } {
  const ref = useRef<HTMLDivElement>(null);
  const width = useSignal(first);
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = (): void => {
      const now = Math.floor(element.clientWidth);
      if (now > 0) width.value = now;
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, width: width.value };
}

export function Plot(props: PlotProps): JSX.Element {
  const { ref, width } = useWidth();
  const chosen = useSignal(-1);
  const id = useId();
  const margin = { left: 44, right: 16, top: 12, bottom: 34, ...props.margin };
  const area: Area = {
    width,
    left: margin.left,
    right: Math.max(width - margin.right, margin.left + 40),
    top: margin.top,
    bottom: props.height - margin.bottom,
  };
  const { marks, points = [] } = props.draw(area);
  const point = points[chosen.value];
  const order = points.map((_, i) => i).sort((a, b) => points[a]!.x - points[b]!.x || points[a]!.y - points[b]!.y);

  const move = (by: number): void => {
    const at = order.indexOf(chosen.value);
    const next = at < 0 ? (by > 0 ? 0 : order.length - 1) : Math.min(Math.max(at + by, 0), order.length - 1);
    chosen.value = order[next] ?? -1;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -10, PageUp: 10 };
    const by = steps[event.key];
    if (by !== undefined) move(by);
    else if (event.key === "Home") chosen.value = order[0] ?? -1;
    else if (event.key === "End") chosen.value = order.at(-1) ?? -1;
    else if (event.key === "Enter" && point?.href) go(point.href);
    else if (event.key === "Escape") chosen.value = -1;
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const nearest = (event: MouseEvent): number => {
    const box = ref.current?.getBoundingClientRect();
    if (!box) return -1;
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    let best = -1;
    let least = 30 ** 2;
    points.forEach((one, i) => {
      const { box: bar } = one;
      const inside = bar && x >= bar.left && x <= bar.right && y >= bar.top && y <= bar.bottom;
      const distance = inside ? 0 : (one.x - x) ** 2 + (one.y - y) ** 2;
      if (distance < least) {
        least = distance;
        best = i;
      }
    });
    return best;
  };

  const keys = points.length > 0 ? { tabIndex: 0, onKeyDown } : {};
  const Heading = props.level === 3 ? "h3" : "h2";
  return (
    <figure class="chart" aria-labelledby={`${id}-title`}>
      <Heading class="chart-title" id={`${id}-title`}>
        <Text value={props.title} />
      </Heading>
      <div
        class={point?.href ? "chart-plot linked" : "chart-plot"}
        ref={ref}
        role="group"
        aria-label={plain(points.length > 0 ? `${props.title}: ${points.length} points, arrow keys choose one` : props.title)}
        {...keys}
        onMouseMove={(event) => {
          chosen.value = nearest(event);
        }}
        onMouseLeave={() => {
          chosen.value = -1;
        }}
        onClick={(event) => {
          const to = points[nearest(event)]?.href;
          if (to) go(to);
        }}
      >
        <svg
          role="img"
          aria-label={plain(props.summary)}
          width={width}
          height={props.height}
          viewBox={`0 0 ${width} ${props.height}`}
        >
          <title>{plain(props.summary)}</title>
          {marks}
          {point && (
            <g class="chart-chosen">
              <circle cx={point.x} cy={point.y} r={8} />
            </g>
          )}
        </svg>
      </div>
      {points.length > 0 && (
        <output class="chart-readout" aria-live="polite">
          {point ? <Text value={point.label} /> : <span class="mute">Point at a mark, or use the arrow keys.</span>}
          {point?.href ? <span class="mute"> Enter or click {point.does ?? "opens it"}.</span> : null}
        </output>
      )}
      {props.children}
      {props.table && <ChartFigures title={props.title} table={props.table} />}
    </figure>
  );
}

/** The figures of a chart as a table, for those who cannot see it and those who copy from it. */
export function ChartFigures({ title, table }: { title: string; table: ChartTable }): JSX.Element {
  const rows = table.rows.slice(0, MOST_TABLE_ROWS);
  return (
    <details class="chart-table">
      <summary>Figures as a table</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${title}: figures as a table`}>
        <table>
          <thead>
            <tr>
              {table.head.map((cell) => (
                <th scope="col">
                  <Text value={cell} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr>
                {row.map((cell, i) =>
                  i === 0 ? (
                    <th scope="row">
                      <Text value={cell} />
                    </th>
                  ) : (
                    <td>
                      <Text value={cell} />
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {table.rows.length > rows.length && (
        <p class="mute">
          The table shows {rows.length} of {table.rows.length} rows.
        </p>
      )}
    </details>
  );
}

/** The horizontal axis: ticks, labels, and its name at the right end. */
export function XAxis(props: { area: Area; scale: Scale; name?: string; grid?: boolean }): JSX.Element {
  const { area, scale } = props;
  return (
    <g class="axis" aria-hidden="true">
      <line class="axis-line" x1={area.left} x2={area.right} y1={area.bottom + 0.5} y2={area.bottom + 0.5} />
      {scale.ticks.map((tick) => {
        const x = Math.round(scale.at(tick.value)) + 0.5;
        return (
          <g>
            {props.grid !== false && <line class="gridline" x1={x} x2={x} y1={area.top} y2={area.bottom} />}
            <line class="axis-line" x1={x} x2={x} y1={area.bottom} y2={area.bottom + 4} />
            <text class="tick" x={x} y={area.bottom + 16} text-anchor="middle">
              {plain(tick.label)}
            </text>
          </g>
        );
      })}
      {props.name && (
        <text class="axis-name" x={area.right} y={area.bottom + 30} text-anchor="end">
          {props.name}
        </text>
      )}
    </g>
  );
}

/** The vertical axis; its name stands above it, so that it is read without turning the head. */
export function YAxis(props: { area: Area; scale: Scale; name?: string }): JSX.Element {
  const { area, scale } = props;
  return (
    <g class="axis" aria-hidden="true">
      {scale.ticks.map((tick) => {
        const y = Math.round(scale.at(tick.value)) + 0.5;
        return (
          <g>
            <line class="gridline" x1={area.left} x2={area.right} y1={y} y2={y} />
            <text class="tick" x={area.left - 6} y={y + 4} text-anchor="end">
              {plain(tick.label)}
            </text>
          </g>
        );
      })}
      {props.name && (
        <text class="axis-name" x={2} y={area.top - 15} text-anchor="start">
          {props.name}
        </text>
      )}
    </g>
  );
}

/** Categories below the horizontal axis; only as many labels as fit. */
export function BandAxis(props: { area: Area; bands: Bands; labels: readonly string[]; name?: string }): JSX.Element {
  const { area, bands, labels } = props;
  const longest = Math.max(...labels.map((label) => label.length), 1) * 7 + 8;
  const every = Math.max(1, Math.ceil(longest / Math.max(bands.width, 1)));
  return (
    <g class="axis" aria-hidden="true">
      <line class="axis-line" x1={area.left} x2={area.right} y1={area.bottom + 0.5} y2={area.bottom + 0.5} />
      {labels.map((label, i) =>
        i % every === 0 ? (
          <text class="tick" x={bands.middle(i)} y={area.bottom + 16} text-anchor="middle">
            {plain(label)}
          </text>
        ) : null,
      )}
      {props.name && (
        <text class="axis-name" x={area.right} y={area.bottom + 30} text-anchor="end">
          {props.name}
        </text>
      )}
    </g>
  );
}

/** The left margin that labels of these texts need. */
export function marginFor(labels: readonly string[], least = 30, most = 220): number {
  return Math.min(Math.max(Math.ceil(Math.max(0, ...labels.map((label) => label.length)) * 6.6) + 14, least), most);
}

/** Text cut to fit a width, with an ellipsis. */
export function fitted(text: string, pixels: number): string {
  const most = Math.floor(pixels / 6.6);
  return text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 1))}…`;
}

/** Shapes of points: one for each series, so that colour is not the only sign. */
export type Shape = "circle" | "square" | "diamond" | "triangle" | "cross";
export const SHAPES: readonly Shape[] = ["circle", "square", "diamond", "triangle", "cross"];

export function shapePath(shape: Shape, x: number, y: number, r: number): string {
  switch (shape) {
    case "circle":
      return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
    case "square":
      return `M${x - r * 0.9} ${y - r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}z`;
    case "diamond":
      return `M${x} ${y - r * 1.25}l${r * 1.25} ${r * 1.25}l${-r * 1.25} ${r * 1.25}l${-r * 1.25} ${-r * 1.25}z`;
    case "triangle":
      return `M${x} ${y - r * 1.15}l${r * 1.15} ${r * 2}h${-r * 2.3}z`;
    case "cross":
      return `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x - r} ${y + r}l${2 * r} ${-2 * r}`;
  }
}

/** A legend entry: the mark and its name. */
export function Legend(props: { entries: readonly { name: string; mark: JSX.Element }[] }): JSX.Element {
  return (
    <ul class="legend">
      {props.entries.map((entry) => (
        <li>
          <svg width={22} height={14} viewBox="0 0 22 14" aria-hidden="true">
            {entry.mark}
          </svg>
          <Text value={entry.name} />
        </li>
      ))}
    </ul>
  );
}
