// Time and tokens, by source and by turn.
import type { JSX } from "preact";
import { StackChart, type Stack } from "../charts/by_turn";
import { count, duration, NONE } from "../numbers";
import type { Report } from "../report";
import { bySource, sumOf } from "../selection";
import { filterLink } from "../state";
import { Text } from "../text";
import { Wide } from "../wide";

const MOST_TURNS = 64;

/** Sums of columns of `turns` by the number of the turn. */
function byTurn(of: Report, rows: readonly number[], columns: readonly string[]): { label: string; values: number[] }[] {
  const stacks: number[][] = [];
  for (const row of rows)
    of.turnsOf(row).slice(0, MOST_TURNS).forEach((turn, i) => {
      const sums = (stacks[i] ??= columns.map(() => 0));
      columns.forEach((column, k) => {
        sums[k]! += Math.max(of.turns.number(column, turn) ?? 0, 0);
      });
    });
  return stacks.map((values, i) => ({ label: String(i + 1), values }));
}

const isEmpty = (stacks: readonly Stack[]): boolean => stacks.every((stack) => stack.values.every((value) => value === 0));

export function CostCharts({ of, rows, note }: { of: Report; rows: readonly number[]; note: JSX.Element | null }): JSX.Element | null {
  const reasoning = rows.some((row) => of.turnsOf(row).some((turn) => (of.turns.number("reasoning_tokens", turn) ?? 0) > 0));
  const tokens = byTurn(of, rows, ["prompt_tokens", "completion_tokens", ...(reasoning ? ["reasoning_tokens"] : [])]);
  // Tokens of reasoning are part of the completion.
  for (const stack of reasoning ? tokens : []) stack.values[1] = Math.max(stack.values[1]! - stack.values[2]!, 0);
  const time = byTurn(of, rows, ["generation_ms", "judge_ms"]);
  return (
    <>
      {!isEmpty(tokens) && (
        <div class="card">
          <StackChart
            title="Tokens by turn"
            noun="turn"
            axis="tokens"
            write={count}
            parts={["prompt", reasoning ? "answer" : "completion", ...(reasoning ? ["reasoning"] : [])]}
            stacks={tokens}
          >
            {note}
          </StackChart>
        </div>
      )}
      {!isEmpty(time) && (
        <div class="card">
          <StackChart title="Time by turn, summed over samples" noun="turn" axis="time" write={duration} parts={["generation", "judging"]} stacks={time} time>
            {note}
          </StackChart>
        </div>
      )}
    </>
  );
}

export function CostTable({ of, rows }: { of: Report; rows: readonly number[] }): JSX.Element {
  const columns: [string, string, (value: number | null) => string][] = [
    ["generation_ms", "Generation", duration],
    ["judge_ms", "Judging", duration],
    ["prompt_tokens", "Prompt tokens", count],
    ["completion_tokens", "Completion tokens", count],
    ["reasoning_tokens", "Reasoning tokens", count],
  ];
  const known = columns.filter(([column]) => rows.some((row) => of.rows.number(column, row) !== null));
  if (known.length === 0) return <p class="mute">Times and tokens are not recorded.</p>;
  const lines = bySource(of, rows).slice(0, 50);
  return (
    <Wide label="Time and tokens by source">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col" class="number">Samples</th>
            <th scope="col" class="number">Right</th>
            {known.map(([, name]) => <th scope="col" class="number">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {lines.map(([source, own]) => (
            <tr>
              <th scope="row">{of.sources.length > 1 ? <a href={filterLink("source", String(source))}><Text value={of.sources[source]?.name ?? NONE} limit={80} /></a> : <Text value={of.sources[source]?.name ?? NONE} limit={80} />}</th>
              <td class="number">{count(own.length)}</td>
              <td class="number">{count(own.filter((row) => of.rows.value("standing", row) === "right").length)}</td>
              {known.map(([column, , write]) => <td class="number">{write(sumOf(of, own, column))}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
