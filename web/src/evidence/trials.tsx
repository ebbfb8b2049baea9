// What was compared: trials, families of inputs, the tolerance, and the first value that differs.
import type { JSX } from "preact";
import { counted } from "../charts/figures";
import { type TrialMark, TrialChart } from "../charts/trials";
import { elementOf, type Fields, fieldsOf, fieldsOrNull, flagOf, indexText, listOrNull, numberOf, objectsOf, shareOf, textOf } from "../fields";
import { count, NONE, percent, significant } from "../numbers";
import { Text } from "../text";
import { Facts, Word } from "../ui";
import { Fact, HELP, NotRecorded, Outcome, Part } from "./part";
import { tensorText } from "./record";
import { Wide } from "../wide";

const MOST_ROWS = 100;

/** A number of a trial, also an infinite one. */
function figure(value: unknown): string {
  const number = elementOf(value);
  if (number === null) return NONE;
  return Number.isFinite(number) ? significant(number) : Number.isNaN(number) ? "NaN" : number > 0 ? "∞" : "−∞";
}

/** A value of an output in full: nine digits tell any two float32 numbers apart. */
function value(given: unknown): string {
  const number = elementOf(given);
  return number !== null && Number.isFinite(number) ? String(Number(number.toPrecision(9))).replaceAll("-", "\u2212") : figure(given);
}

interface Tolerated {
  rtol: number;
  atol: number;
}

/** What the output of the first wrong value may differ by: the record's own tolerance of that output. */
function toleratedOf(evidence: Fields | null, first: Fields): Tolerated | null {
  const number = numberOf(first["trial"]);
  const trial = number === null ? undefined : objectsOf(evidence?.["trials"]).find((one) => numberOf(one["index"]) === number);
  const output = objectsOf(trial?.["outputs"]).find((one) => textOf(one["output"]) === textOf(first["output"]));
  const [rtol, atol] = [numberOf(output?.["rtol"]), numberOf(output?.["atol"])];
  return rtol === null || atol === null ? null : { rtol, atol };
}

/** Actual minus expected, and its size over what is tolerated there; null where one of them is not a finite number. */
export function differenceOf(pair: Fields, tolerated: Tolerated | null): { difference: number | null; overLimit: number | null } {
  const [expected, actual] = [numberOf(pair["expected"]), numberOf(pair["actual"])];
  if (expected === null || actual === null) return { difference: null, overLimit: null };
  const difference = actual - expected;
  const limit = tolerated ? tolerated.atol + tolerated.rtol * Math.abs(expected) : 0;
  return { difference: Number.isFinite(difference) ? difference : null, overLimit: limit > 0 ? figureOrNull(Math.abs(difference) / limit) : null };
}

const figureOrNull = (number: number): number | null => (Number.isFinite(number) ? number : null);

function markOf(trial: Fields, at: number): TrialMark {
  const index = numberOf(trial["index"]) ?? at;
  const over = elementOf(trial["max_error_over_limit"]);
  const passed = flagOf(trial["passed"]);
  const outcome = passed === null ? "outcome not recorded" : passed ? "passed" : `failed${textOf(trial["error_class"]) ? ` (${textOf(trial["error_class"])})` : ""}`;
  return {
    index,
    overLimit: over === null ? null : Number.isNaN(over) ? Number.POSITIVE_INFINITY : over,
    passed,
    label:
      `Trial ${index}, ${textOf(trial["purpose"]) ?? "purpose not recorded"} by ${textOf(trial["path"]) ?? "?"}, inputs ${textOf(trial["inputs"]) ?? "not recorded"}: ${outcome}` +
      (over === null ? "; error over limit not recorded" : `; error ${figure(trial["max_error_over_limit"])} times the limit`) +
      `; largest error ${figure(trial["max_abs_error"])}.`,
  };
}

export function Trials({ verdict, evidence }: { verdict: Fields; evidence: Fields | null }): JSX.Element {
  const trials = evidence && listOrNull(evidence["trials"]) ? objectsOf(evidence["trials"]) : null;
  const comparison = fieldsOrNull(verdict["comparison"]);
  const leftOut = numberOf(evidence?.["trials_left_out"]) ?? 0;
  return (
    <Part id="trials" title="Trials" help={HELP.trials}>
      {trials === null || trials.length === 0 ? (
        <NotRecorded why={trials ? "no output was judged" : "single trials; the figures below are the worst of all"} />
      ) : (
        <>
          <TrialChart trials={trials.map(markOf)} />
          <TrialTable trials={trials} />
          {leftOut > 0 && <p class="mute">{counted(leftOut, "further trial")} passed and are left out of the record.</p>}
        </>
      )}
      <Facts
        facts={[
          ["Trials judged", <Fact value={numberOf(comparison?.["trials"]) === null ? null : count(numberOf(comparison?.["trials"]))} />],
          ["Largest absolute error", <Fact value={numberOf(comparison?.["max_abs_error"]) === null ? null : significant(numberOf(comparison?.["max_abs_error"]))} />],
          ["Largest relative error", <Fact value={numberOf(comparison?.["max_rel_error"]) === null ? null : significant(numberOf(comparison?.["max_rel_error"]))} />],
          ["Largest error over the reference's own", <Fact value={numberOf(comparison?.["error_ratio"]) === null ? null : significant(numberOf(comparison?.["error_ratio"]))} />],
          ["Values that differ", <Fact value={shareOf(comparison?.["mismatched_share"]) === null ? null : percent(shareOf(comparison?.["mismatched_share"]), 2)} />],
        ]}
      />
      <Findings list={listOrNull(comparison?.["findings"])} />
    </Part>
  );
}

function Findings({ list }: { list: unknown[] | null }): JSX.Element | null {
  if (!list || list.length === 0) return null;
  return (
    <ul class="messages">
      {list.slice(0, 50).map((finding) => (
        <li>
          <Text value={finding} />
        </li>
      ))}
    </ul>
  );
}

function TrialTable({ trials }: { trials: readonly Fields[] }): JSX.Element {
  return (
    <details class="chart-table">
      <summary>{counted(trials.length, "trial")} as a table</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Trials">
        <table>
          <thead>
            <tr>
              {["trial", "outcome", "purpose", "path", "inputs", "weights", "error over limit", "absolute", "relative", "differ"].map((name) => (
                <th scope="col">{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {trials.slice(0, MOST_ROWS).map((trial, i) => (
              <tr>
                <th scope="row">{numberOf(trial["index"]) ?? i}</th>
                <td>{flagOf(trial["passed"]) === null ? NONE : flagOf(trial["passed"]) ? "passed" : <Word kind="error_class" word={textOf(trial["error_class"]) ?? "failed"} />}</td>
                {["purpose", "path", "inputs", "weights"].map((name) => (
                  <td>
                    <Text value={textOf(trial[name]) ?? NONE} limit={60} />
                  </td>
                ))}
                {["max_error_over_limit", "max_abs_error", "max_rel_error"].map((name) => (
                  <td>{figure(trial[name])}</td>
                ))}
                <td>{shareOf(trial["mismatched_share"]) === null ? NONE : percent(shareOf(trial["mismatched_share"]), 2)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

interface Family {
  name: string;
  passed: number;
  trials: number;
  worst: number | null;
}

/** Right or wrong by family of inputs. */
function familiesOf(evidence: Fields): Family[] {
  const families = new Map<string, Family>();
  for (const input of objectsOf(evidence["inputs"])) {
    const name = textOf(input["family"]) ?? "unnamed";
    families.set(name, { name, passed: 0, trials: 0, worst: null });
  }
  for (const trial of objectsOf(evidence["trials"])) {
    const name = textOf(trial["inputs"]) ?? "not recorded";
    const family = families.get(name) ?? { name, passed: 0, trials: 0, worst: null };
    families.set(name, family);
    ++family.trials;
    if (flagOf(trial["passed"]) === true) ++family.passed;
    const over = elementOf(trial["max_error_over_limit"]);
    if (over !== null) family.worst = Number.isNaN(over) ? Number.POSITIVE_INFINITY : Math.max(family.worst ?? 0, over);
  }
  return [...families.values()];
}

export function Families({ evidence }: { evidence: Fields | null }): JSX.Element {
  const families = evidence ? familiesOf(evidence) : [];
  const tensors = new Map(objectsOf(evidence?.["inputs"]).map((input) => [textOf(input["family"]) ?? "unnamed", input]));
  const only = families.length === 1 && families[0]!.name === "given";
  return (
    <Part id="families" title="Generality by input family" help={HELP.families}>
      {families.length === 0 ? (
        <NotRecorded />
      ) : (
        <>
          <Wide label="Input families">
            <table class="plain">
              <thead>
                <tr>
                  <th scope="col">Family</th>
                  <th scope="col">Trials passed</th>
                  <th scope="col" class="number">Worst error over limit</th>
                  <th scope="col">Tensors</th>
                </tr>
              </thead>
              <tbody>
                {families.slice(0, 50).map((family) => (
                  <tr>
                    <th scope="row"><Text value={family.name} limit={80} /></th>
                    <td>
                      {family.trials === 0 ? (
                        <span class="mute">none recorded</span>
                      ) : (
                        <Outcome tone={family.passed === family.trials ? "good" : "bad"}>
                          {family.passed} of {family.trials}
                        </Outcome>
                      )}
                    </td>
                    <td class="number">{figure(family.worst === Number.POSITIVE_INFINITY ? "inf" : family.worst)}</td>
                    <td class="tensors"><Tensors input={tensors.get(family.name)} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Wide>
          {only && <p class="mute">All trials drew inputs as the task does; other families were not tried.</p>}
        </>
      )}
    </Part>
  );
}

function Tensors({ input }: { input: Fields | undefined }): JSX.Element {
  if (!input) return <span class="mute">not recorded</span>;
  const tensors = objectsOf(input["tensors"]);
  const hidden = tensors.length - 6 + (numberOf(input["tensors_left_out"]) ?? 0);
  return (
    <>
      {tensors.slice(0, 6).map((tensor) => (
        <div>
          <Text value={tensorText(tensor)} limit={160} />
        </div>
      ))}
      {hidden > 0 && <div class="mute">{counted(hidden, "further tensor")}</div>}
    </>
  );
}

/** The outputs of the trial that comes nearest to its limit or passes it. */
function worstOutputs(evidence: Fields | null): Fields[] {
  let worst: Fields[] = [];
  let most = -1;
  for (const trial of objectsOf(evidence?.["trials"])) {
    const outputs = objectsOf(trial["outputs"]);
    const over = elementOf(trial["max_error_over_limit"]);
    const size = over === null ? 0 : Number.isNaN(over) ? Number.POSITIVE_INFINITY : over;
    if (outputs.length > 0 && size > most) {
      most = size;
      worst = outputs;
    }
  }
  return worst;
}

export function Tolerance({ verdict, evidence }: { verdict: Fields; evidence: Fields | null }): JSX.Element {
  const tolerance = fieldsOf(fieldsOf(verdict["comparison"])["tolerance"]);
  const outputs = worstOutputs(evidence);
  const losses = objectsOf(evidence?.["trials"]).flatMap((trial) => objectsOf(trial["outputs"]).map((output) => numberOf(output["reference_loss"]))).filter((loss) => loss !== null);
  return (
    <Part id="tolerance" title="Tolerance and the reference's own loss" help={HELP.tolerance}>
      <Facts
        facts={[
          ["Tolerance", <Fact value={textOf(tolerance["name"])} />],
          ["rtol", <Fact value={numberOf(tolerance["rtol"]) === null ? null : significant(numberOf(tolerance["rtol"]))} />],
          ["atol", <Fact value={numberOf(tolerance["atol"]) === null ? null : significant(numberOf(tolerance["atol"]))} />],
          ["Reference's largest loss", <Fact value={losses.length === 0 ? null : significant(losses.reduce((most, loss) => Math.max(most, loss), 0))} />],
        ]}
      />
      {outputs.length > 0 && (
        <Wide label="Outputs">
          <table class="plain">
            <caption>Outputs of the trial nearest to its limit</caption>
            <thead>
              <tr>
                <th scope="col">Output</th>
                {["Largest error", "rtol", "atol", "Error over limit", "Reference's loss"].map((name) => (
                  <th scope="col" class="number">{name}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {outputs.slice(0, 20).map((output) => (
                <tr>
                  <th scope="row"><Text value={tensorText(output)} limit={120} /></th>
                  {["max_abs_error", "rtol", "atol", "max_error_over_limit", "reference_loss"].map((name) => (
                    <td class="number">{figure(output[name])}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </Part>
  );
}

export function Mismatch({ verdict, evidence }: { verdict: Fields; evidence: Fields | null }): JSX.Element | null {
  const stored = fieldsOrNull(evidence?.["first_mismatch"]);
  const first = stored ?? fieldsOrNull(fieldsOf(verdict["comparison"])["first_mismatch"]);
  if (!first) return null;
  const neighbours = objectsOf(stored?.["neighbours"]);
  const tolerated = toleratedOf(evidence, first);
  const own = differenceOf(first, tolerated);
  return (
    <Part id="mismatch" title="First wrong value" help={HELP.mismatch}>
      <Facts
        facts={[
          ["Output", <Fact value={textOf(first["output"])} />],
          ["Index", <Fact value={listOrNull(first["index"]) ? indexText(first["index"]) : null} />],
          ["Expected", value(first["expected"])],
          ["Actual", value(first["actual"])],
          ["Difference", significant(own.difference)],
          ...(own.overLimit === null ? [] : [["Error over limit", significant(own.overLimit)] as [string, string]]),
          ["Trial", <Fact value={numberOf(first["trial"]) === null ? null : String(first["trial"])} />],
        ]}
      />
      {neighbours.length === 0 ? (
        <NotRecorded why="neighbours" />
      ) : (
        <Wide label="Neighbours">
          <table class="plain mismatch">
            <caption>Neighbours along the last dimension</caption>
            <thead>
              <tr>
                <th scope="col">Index</th>
                <th scope="col" class="number">Expected</th>
                <th scope="col" class="number">Actual</th>
                <th scope="col" class="number">Difference</th>
                <th scope="col">Outcome</th>
              </tr>
            </thead>
            <tbody>
              {neighbours.slice(0, 64).map((one) => (
                <tr class={indexText(one["index"]) === indexText(first["index"]) ? "mismatch-first" : undefined}>
                  <th scope="row" class="mono">{indexText(one["index"])}</th>
                  <td class="number">{value(one["expected"])}</td>
                  <td class="number">{value(one["actual"])}</td>
                  <td class="number">{significant(differenceOf(one, tolerated).difference)}</td>
                  <td>{flagOf(one["wrong"]) === null ? NONE : <Outcome tone={one["wrong"] ? "bad" : "good"}>{one["wrong"] ? "wrong" : "right"}</Outcome>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
      <ValueSummary name="Expected values" of={fieldsOrNull(stored?.["expected_values"])} />
      <ValueSummary name="Actual values" of={fieldsOrNull(stored?.["actual_values"])} />
    </Part>
  );
}

function ValueSummary({ name, of }: { name: string; of: Fields | null }): JSX.Element | null {
  if (!of) return null;
  const number = (field: string): string => (numberOf(of[field]) === null ? "not recorded" : count(numberOf(of[field])));
  return (
    <p>
      {name}: from {figure(of["min"])} to {figure(of["max"])}, {number("nan_count")} NaN, {number("infinite_count")} infinite.
    </p>
  );
}
