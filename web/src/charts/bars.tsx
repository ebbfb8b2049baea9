// Horizontal bars with their names and counts: words and how often each occurs.
import type { JSX } from "preact";
import { Text } from "../text";
import { count } from "../numbers";
import { shareText } from "./figures";

export interface Bar {
  name: string;
  value: number;
  /** In place of the number. */
  shown?: string;
  href?: string | undefined;
}

const MOST_BARS = 12;

/** A list in which each entry has a bar; a screen reader reads names and numbers. */
export function BarList(props: { bars: readonly Bar[]; of?: number; label: string; series?: number; all?: boolean }): JSX.Element {
  const bars = props.all ? props.bars : props.bars.slice(0, MOST_BARS);
  const rest = props.bars.slice(bars.length);
  const most = props.bars.reduce((high, bar) => Math.max(high, bar.value), 0);
  return (
    <table class={`bars bars-${(props.series ?? 0) + 1}`} aria-label={props.label}>
      <tbody>
        {bars.map((bar) => (
          <tr>
            <th scope="row">{bar.href ? <a href={bar.href}><Text value={bar.name} limit={120} /></a> : <Text value={bar.name} limit={120} />}</th>
            <td class="bar-cell" aria-hidden="true">
              <svg height={10} width="100%" preserveAspectRatio="none" viewBox="0 0 100 10">
                <rect height={10} width={most > 0 ? Math.max(100 * (bar.value / most), bar.value > 0 ? 0.8 : 0) : 0} />
              </svg>
            </td>
            <td class="number">{bar.shown ?? count(bar.value)}</td>
            {props.of !== undefined && <td class="number mute">{props.of > 0 && bar.value / props.of < 1000 ? shareText(bar.value / props.of) : ""}</td>}
          </tr>
        ))}
        {rest.length > 0 && (
          <tr>
            <th scope="row" class="mute">{rest.length} others</th>
            <td aria-hidden="true" />
            <td class="number">{count(rest.reduce((sum, bar) => sum + bar.value, 0))}</td>
            {props.of !== undefined && <td />}
          </tr>
        )}
      </tbody>
    </table>
  );
}
