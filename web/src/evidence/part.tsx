// A part of the evidence: a heading, its facts, and an entry that says what they mean and which page of the docs has more.
import type { ComponentChildren, JSX } from "preact";
import { Guard } from "../guard";
import { NOT_RECORDED } from "../numbers";
import { Text } from "../text";
import { Docs } from "../ui";

export interface Help {
  text: string;
  page: string;
}

export const HELP = {
  trials: {
    text: "Each trial draws fresh secret inputs and compares every output with the reference's. The error over limit is the largest error divided by the error that is allowed at that value: above 1 is wrong.",
    page: "verdict.md#correctness-rule",
  },
  families: {
    text: "A family is one way of drawing inputs. A kernel that is right for one family alone has learnt its inputs.",
    page: "verdict.md#evidence-record",
  },
  tolerance: {
    text: "A value is right if |actual - expected| <= atol + rtol * |expected|. The reference's own loss is its largest error against the same computation in float64: a tolerance below it would ask for more than the reference can do.",
    page: "verdict.md#correctness-rule",
  },
  mismatch: {
    text: "The first wrong value in the order of memory, with its neighbours along the last dimension. A regular pattern of wrong values points at a mask, a stride or a block that was left out.",
    page: "verdict.md#evidence-record",
  },
  launches: {
    text: "All device work of one call. A kernel is a library's if the reference launches it too, if a package or torch.compile brought it, or if its name is known; the candidate's own if the compile broker reproduces its machine code from the candidate's Triton code; unattested otherwise.",
    page: "gpu-path.md#provenance-of-kernels",
  },
  timing: {
    text: "Each dot is one sample; the time of an empty recording is subtracted. A time is the mean of the middle half of its samples, with an interval of about 95%. Two intervals that overlap show no difference. Of a verdict on gradients, the times of both passes together are judged: where the forward pass ends is a claim of the candidate's process.",
    page: "gpu-path.md#timing",
  },
  clocks: {
    text: "The same calls, timed by the device's events and by the supervisor's clock. A kernel that makes its own clock lie disagrees with the supervisor's.",
    page: "gpu-path.md#timing",
  },
  roofline: {
    text: "No kernel is faster than its inputs and outputs pass the GPU's memory. A share above 100% means that work was skipped or inputs were cached.",
    page: "verdict.md#timing-fields",
  },
  decoys: {
    text: "The call is repeated without its launches. If the result is still right, the launches are decoys, and the right result does not count.",
    page: "verdict.md#evidence-record",
  },
  certificate: {
    text: "Answers that need no computation, tried on several input sets: zeros, a constant, an input returned unchanged, the output of an earlier call. If one passes, a right result of this task proves nothing.",
    page: "verdict.md#correctness-rule",
  },
  audits: {
    text: "Further checks of a right result: calls without the recorder, and the first call's result judged after a second call.",
    page: "verdict.md#evidence-record",
  },
  sanitizers: {
    text: "Checks of --sanitize on a right result: reads beyond the end of an input (bounds), and accesses and races that NVIDIA's compute-sanitizer finds (memcheck, racecheck). A check that did not run proves nothing.",
    page: "sanitize.md#sanitizers",
  },
  isolation: {
    text: "What separated the candidate's process from the machine, the reference and the expected outputs.",
    page: "isolation.md#isolation-levels",
  },
  protocol: {
    text: "The protocol is a hash of everything that can change a verdict: device, trials, tolerance, precision, weights, shapes, timeout and versions. Results of different protocols are not comparable.",
    page: "verdict.md#comparison-calling-convention-and-launches",
  },
  stages: { text: "Time of the program in each stage of the verdict.", page: "gpu-path.md#stages" },
} satisfies Record<string, Help>;

export function HelpEntry({ of }: { of: Help }): JSX.Element {
  return (
    <details class="meaning">
      <summary>What is this?</summary>
      <p>
        {of.text} More: <Docs page={of.page} />
      </p>
    </details>
  );
}

export function Part(props: { id: string; title: string; help: Help; children: ComponentChildren }): JSX.Element {
  return (
    <section class="card part" id={`part-${props.id}`} aria-label={props.title} tabIndex={-1}>
      <header class="part-head">
        <h2>{props.title}</h2>
        <HelpEntry of={props.help} />
      </header>
      <Guard title={props.title}>{props.children}</Guard>
    </section>
  );
}

/** A fact that an old verdict lacks. */
export function NotRecorded({ why }: { why?: string }): JSX.Element {
  return (
    <p class="mute">
      {NOT_RECORDED}
      {why ? `: ${why}` : ""}
    </p>
  );
}

/** A value of a fact, or "not recorded". */
export function Fact({ value }: { value: string | null }): JSX.Element {
  return value === null ? <span class="mute">{NOT_RECORDED}</span> : <Text value={value} />;
}

/** "neutral": a figure that is neither good nor bad; "mute": nothing was found out. */
export type Tone = "good" | "bad" | "warn" | "neutral" | "mute";
const SIGNS: Record<Tone, string> = { good: "✓", bad: "✕", warn: "!", neutral: "·", mute: "–" };

/** An outcome with its sign: colour is not the only one. */
export function Outcome({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return (
    <span class={`status ${tone}`}>
      <span class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </span>
      <span>{children}</span>
    </span>
  );
}
