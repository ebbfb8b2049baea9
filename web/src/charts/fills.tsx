// Fills of areas that differ by pattern as well as by colour, and the colours of series.
import type { JSX } from "preact";
import { useId } from "preact/hooks";

export const SERIES = 6;

/** The colour of a series: a variable of the style sheet, with values for light and dark. */
export function colour(series: number): string {
  return `var(--series-${(series % SERIES) + 1})`;
}

// The lines over the colour; the first series is plain.
const LINES = [
  "",
  "M-1 7L7 -1M-1 1L1 -1M5 7L7 5",
  "M-1 -1L7 7M-1 5L1 7M5 -1L7 1",
  "M0 3H6",
  "M3 0V6",
  "M-1 7L7 -1M-1 -1L7 7",
];

export interface Fills {
  /** To be drawn once in the chart. */
  definitions: JSX.Element;
  of(series: number): string;
}

export function useFills(): Fills {
  const id = useId();
  return {
    definitions: (
      <defs>
        {LINES.map((lines, i) => (
          <pattern id={`${id}-${i}`} width={6} height={6} patternUnits="userSpaceOnUse">
            <rect width={6} height={6} class="tint" fill={colour(i)} />
            <path d={lines} class="hatch" stroke={colour(i)} />
          </pattern>
        ))}
      </defs>
    ),
    of: (series) => `url(#${id}-${series % SERIES})`,
  };
}
