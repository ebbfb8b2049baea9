// How fast, and whether the clock can be believed: raw samples, both clocks, the memory's limit.
import type { JSX } from "preact";
import { numbersOf } from "../charts/figures";
import { Roofline } from "../charts/roofline";
import { type Strip, StripPlot } from "../charts/strip";
import { type Fields, fieldsOf, fieldsOrNull, numberOf, shareOf, textOf } from "../fields";
import { bytes, count, duration, percent, significant, times } from "../numbers";
import { passesOf } from "../passes";
import { Empty, Facts } from "../ui";
import { Fact, HELP, NotRecorded, Outcome, Part } from "./part";
import { isInterpreted } from "./record";

function pair(value: unknown): [number, number] | null {
  const numbers = numbersOf(value);
  return numbers.length === 2 ? [numbers[0]!, numbers[1]!] : null;
}

function stripOf(timing: Fields, side: "reference" | "kernel"): Strip {
  return {
    name: side,
    samples: numbersOf(timing[`${side}_samples_ms`]),
    middle: numberOf(timing[`${side}_median_ms`]),
    interval: pair(timing[`${side}_interval_ms`]),
  };
}

const known = (value: unknown, write: (value: number) => string): string | null => {
  const number = numberOf(value);
  return number === null ? null : write(number);
};

/** Why there is no speed, in the verdict's own words. */
function whyNoTime(verdict: Fields): string {
  const why = textOf(fieldsOf(verdict["timing"])["why_null"]);
  if (isInterpreted(verdict)) return "Speed was not measured: no GPU.";
  return why ? `Speed was not measured: ${why.slice(0, 300)}.` : "Speed was not measured.";
}

export function Timing({ verdict }: { verdict: Fields }): JSX.Element {
  const timing = fieldsOf(verdict["timing"]);
  const strips = [stripOf(timing, "reference"), stripOf(timing, "kernel")].filter((strip) => strip.samples.length > 0);
  const speedup = numberOf(verdict["speedup"]);
  const [reference, kernel] = [pair(timing["reference_interval_ms"]), pair(timing["kernel_interval_ms"])];
  const range = reference && kernel && kernel[0] > 0 && kernel[1] > 0 ? ` (${significant(reference[0] / kernel[1])} to ${significant(reference[1] / kernel[0])})` : "";
  const kernelMs = numberOf(verdict["kernel_time_ms"]);
  const compiledMs = numberOf(timing["compile_time_ms"]);
  return (
    <Part id="timing" title="Samples of both sides" help={HELP.timing}>
      {strips.length === 0 ? (
        <Empty title={whyNoTime(verdict)}>{isInterpreted(verdict) ? "Both clocks, the roofline and the facts of a replay need a GPU too." : null}</Empty>
      ) : (
        <StripPlot title="Raw samples" strips={strips} />
      )}
      {(strips.length > 0 || speedup !== null) && (
        <Facts
          facts={[
            ["Speed-up", <Fact value={speedup === null ? null : `${times(speedup)}${range}`} />],
            ["Reference", <Fact value={known(verdict["reference_time_ms"], duration)} />],
            ["Kernel", <Fact value={known(verdict["kernel_time_ms"], duration)} />],
            ...passesOf(verdict).map(({ name, says }): [string, JSX.Element] => [name, <Fact value={says} />]),
            ["Reference under torch.compile", <Fact value={compiledMs === null ? null : `${duration(compiledMs)}${kernelMs ? ` (${times(compiledMs / kernelMs)})` : ""}`} />],
            ["Whole calls, host included (claim)", <Fact value={known(timing["call_speedup"], times)} />],
            ["Empty recording, subtracted", <Fact value={known(timing["floor_ms"], duration)} />],
            ["Timer", <Fact value={textOf(timing["instrument"])} />],
          ]}
        />
      )}
    </Part>
  );
}

/** Whether the two clocks agree, and the sentence; null without a comparison. The program's own bound decides. */
export function clocksOf(evidence: Fields | null): { agree: boolean; says: string } | null {
  const check = fieldsOrNull(evidence?.["clock_check"]);
  const [supervisor, tolerated] = [numberOf(check?.["supervisor_ms"]), numberOf(check?.["tolerated_ms"])];
  if (supervisor === null || tolerated === null) return null;
  const agree = supervisor <= tolerated;
  return { agree, says: `The supervisor's clock saw ${seen(supervisor)} a call; at most ${duration(tolerated)} is tolerated.` };
}

/** A difference of two waits: for short calls it can be below nothing. */
const seen = (ms: number) => (ms > 0 ? duration(ms) : "less than its noise");

export function Clocks({ verdict, evidence }: { verdict: Fields; evidence: Fields | null }): JSX.Element {
  const check = fieldsOrNull(evidence?.["clock_check"]);
  const clocks = fieldsOrNull(fieldsOf(verdict["timing"])["clocks"]);
  const device = numberOf(check?.["device_ms"]);
  const supervisor = numberOf(check?.["supervisor_ms"]);
  const compared = clocksOf(evidence);
  return (
    <Part id="clocks" title="Both clocks" help={HELP.clocks}>
      {compared === null ? (
        <NotRecorded why="a comparison of the two clocks" />
      ) : (
        <p>
          <Outcome tone={compared.agree ? "good" : "warn"}>{compared.agree ? "The clocks agree." : "The clocks disagree."}</Outcome> {compared.says}
        </p>
      )}
      <Facts
        facts={[
          ["Device's events, a call", <Fact value={device === null ? null : duration(device)} />],
          ["Supervisor's clock, a call", <Fact value={supervisor === null ? null : seen(supervisor)} />],
          ["Calls", <Fact value={known(check?.["calls"], count)} />],
          ["Source of the device's time", <Fact value={check?.["device_source"] === "claim" ? "the candidate's process (claim)" : textOf(check?.["device_source"])} />],
          ["SM clock", <Fact value={known(clocks?.["sm_mhz"], (mhz) => `${count(mhz)} MHz`)} />],
          ["Memory clock", <Fact value={known(clocks?.["memory_mhz"], (mhz) => `${count(mhz)} MHz`)} />],
          ["Throttling", clocks ? <Fact value={textOf(clocks["throttle"]) ?? "none"} /> : <Fact value={null} />],
        ]}
      />
    </Part>
  );
}

export function Roof({ verdict, evidence }: { verdict: Fields; evidence: Fields | null }): JSX.Element {
  const timing = fieldsOf(verdict["timing"]);
  const share = shareOf(timing["roofline_share"]);
  const kernelMs = numberOf(verdict["kernel_time_ms"]);
  const moved = numberOf(evidence?.["moved_bytes"]);
  const isKnown = share !== null && share > 0 && kernelMs !== null && kernelMs > 0;
  return (
    <Part id="roofline" title="Roofline" help={HELP.roofline}>
      {isKnown ? (
        <>
          <Roofline times={{ kernelMs, referenceMs: numberOf(verdict["reference_time_ms"]), compiledMs: numberOf(timing["compile_time_ms"]), leastMs: share * kernelMs }} />
          {share > 1 && (
            <p>
              <Outcome tone="warn">The kernel is faster than the memory allows: work was skipped, or inputs were cached.</Outcome>
            </p>
          )}
        </>
      ) : (
        <NotRecorded why={numberOf(verdict["speedup"]) === null ? "the kernel was not timed" : "the share of the memory's speed"} />
      )}
      <Facts
        facts={[
          ["Share of the memory's speed", <Fact value={share === null ? null : percent(share, 1)} />],
          ["Least bytes of a call", <Fact value={moved === null ? null : bytes(moved)} />],
          ["Bandwidth of the kernel", <Fact value={moved === null || !kernelMs ? null : `${significant(moved / kernelMs / 1e6)} GB/s`} />],
        ]}
      />
    </Part>
  );
}
