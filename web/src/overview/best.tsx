// The best kernel of each task: the fastest right answer, to open and to copy.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { copyText } from "../copy";
import type { Detail } from "../format";
import { interval, NONE, times } from "../numbers";
import type { Report } from "../report";
import { nameOf, pageOf, taskOf } from "../selection";
import { href, source } from "../state";
import { Text, plain } from "../text";
import { ShowMore, Word } from "../ui";
import { Wide } from "../wide";

const STEP = 20;
const SAID_MS = 1800;

/** The code of the answer that a row stands for. */
export function codeOf(detail: Detail): string | null {
  const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
  if (detail.kind === "verdict") return text(detail.kernel_code);
  if (detail.kind !== "trace") return null;
  const { trace } = detail;
  const turns = Array.isArray(trace?.turns) ? trace.turns : [];
  const final = turns.find((turn) => turn?.turn === trace.final_turn);
  return text(trace?.["final_triton_code"]) ?? text(final?.triton_code) ?? text(turns.at(-1)?.triton_code);
}

async function loadCode(key: string): Promise<string> {
  const detail = await source.value?.detail(key);
  const code = detail ? codeOf(detail) : null;
  if (code === null) throw new Error("the code is not in this report");
  return code;
}

/** Copies the kernel of a row, whose detail is loaded when the button is pressed. */
function CopyKernel(props: { of: Report; row: number }): JSX.Element {
  const [said, setSaid] = useState("");
  const copy = async (): Promise<void> => {
    setSaid("Loading");
    try {
      setSaid((await copyText(await loadCode(props.of.keyOf(props.row)))) ? "Copied" : "Not allowed");
    } catch (error) {
      setSaid(error instanceof Error ? error.message : "Not loaded");
    }
    setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()} aria-label={plain(`Copy the kernel of ${nameOf(props.of, props.row).slice(0, 100)}`)}>
      <span aria-live="polite">{said ? plain(said) : "Copy"}</span>
    </button>
  );
}

export function BestKernels(props: { of: Report; best: readonly number[] }): JSX.Element {
  const { of } = props;
  const [shown, setShown] = useState(STEP);
  const speed = (row: number): number => of.rows.number("speedup", row) ?? -1;
  const rows = [...props.best].sort((a, b) => speed(b) - speed(a) || a - b);
  const any = (column: string): boolean => rows.some((row) => of.rows.value(column, row) !== null);
  const columns = { compile: any("compile_speedup"), level: any("level"), model: any("model"), speed: any("speedup"), interval: any("speedup_low"), trust: any("trust") };
  return (
    <>
      <Wide label="Best kernel of each task">
        <table class="plain best">
          <thead>
            <tr>
              <th scope="col">Task</th>
              {columns.speed && <th scope="col" class="number">Speed-up</th>}
              {columns.interval && <th scope="col">95% interval</th>}
              {columns.compile && <th scope="col" class="number">Over torch.compile</th>}
              {columns.level && <th scope="col">Level</th>}
              {columns.model && <th scope="col">Model</th>}
              {columns.trust && <th scope="col">Trust</th>}
              <th scope="col">Code</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row) => (
              <tr key={of.keyOf(row)}>
                <th scope="row" class="best-task">
                  <a href={href(pageOf(of, row), [of.keyOf(row)])} title={plain(taskOf(of, row).slice(0, 200))}>
                    <Text value={nameOf(of, row)} limit={120} />
                  </a>
                </th>
                {columns.speed && <td class="number">{times(of.rows.number("speedup", row))}</td>}
                {columns.interval && <td class="range">{interval(of.rows.number("speedup_low", row), of.rows.number("speedup_high", row))}</td>}
                {columns.compile && <td class="number">{times(of.rows.number("compile_speedup", row))}</td>}
                {columns.level && <td><Text value={of.rows.text("level", row) ?? NONE} limit={20} /></td>}
                {columns.model && <td class="nowrap"><Text value={of.rows.text("model", row) ?? NONE} limit={60} /></td>}
                {columns.trust && <td><Word kind="trust" word={of.rows.text("trust", row)} /></td>}
                <td>
                  <CopyKernel of={of} row={row} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <ShowMore shown={shown} of={rows.length} noun="task" more={() => setShown(shown * 5)} />
    </>
  );
}
