// The answer at the top of the page: what each check says, and where to read more.
import type { JSX } from "preact";
import { counted } from "../charts/figures";
import { elementOf, type Fields, fieldsOf, flagOf, listOrNull, numberOf, objectsOf, shareOf, textOf } from "../fields";
import { percent, significant } from "../numbers";
import { type Sanitized, sanitizedOf } from "../sanitized";
import { Text } from "../text";
import { answerLine, auditLine, decoyLine, sanitizedLine } from "./checks";
import { Outcome, type Tone } from "./part";
import { isInterpreted } from "./record";
import { clocksOf } from "./timing";

interface Check {
  part: string;
  name: string;
  tone: Tone;
  says: string;
}

const MISSING = "not recorded";

function trials(verdict: Fields, evidence: Fields | null): Check {
  const list = objectsOf(evidence?.["trials"]);
  const part = { part: "trials", name: "Trials" };
  if (list.length === 0) {
    const number = numberOf(fieldsOf(verdict["comparison"])["trials"]);
    if (number === null) return { ...part, tone: "mute", says: MISSING };
    const right = verdict["correctness"] === true;
    return { ...part, tone: right ? "good" : number === 0 ? "mute" : "bad", says: number === 0 ? "none was judged" : `${counted(number, "trial")}, ${right ? "all right" : "not all right"}; single errors ${MISSING}` };
  }
  const failed = list.filter((trial) => flagOf(trial["passed"]) === false).length;
  const worst = list.reduce((most, trial) => {
    const over = elementOf(trial["max_error_over_limit"]);
    return over === null ? most : Math.max(most, Number.isNaN(over) ? Number.POSITIVE_INFINITY : over);
  }, 0);
  const size = Number.isFinite(worst) ? (worst > 0 ? `, largest error ${significant(worst)} times the limit` : "") : ", an error is not finite";
  return { ...part, tone: failed === 0 ? "good" : "bad", says: (failed === 0 ? `all ${list.length} passed` : `${failed} of ${list.length} failed`) + size };
}

/** A list of outcomes in one: the worst of them. */
function worstOf(part: string, name: string, lines: { tone: Tone; name: string; outcome: string }[], fine: string): Check {
  const bad = lines.find((line) => line.tone === "bad");
  if (bad) return { part, name, tone: "bad", says: `${bad.name}: ${bad.outcome}` };
  const good = lines.filter((line) => line.tone === "good").length;
  if (good === 0) return { part, name, tone: "mute", says: lines.length === 0 ? MISSING : "not run" };
  return { part, name, tone: "good", says: fine };
}

/** The clean checks by their names; those that did not run are told apart, since they prove nothing. */
function sanitizers(checks: Sanitized[]): Check {
  const part = { part: "sanitizers", name: "Sanitizers" };
  if (checks.length === 0) return { ...part, tone: "mute", says: "no check ended" };
  const namesOf = (outcome: string) => checks.filter((one) => one.outcome === outcome).map((one) => one.check).join(", ");
  const [clean, notRun] = [namesOf("clean"), namesOf("not_run")];
  const rest = notRun === "" ? "" : `not run: ${notRun}`;
  return worstOf(part.part, part.name, checks.map(sanitizedLine), [`clean: ${clean}`, rest].filter((text) => text !== "").join("; "));
}

function checksOf(verdict: Fields, evidence: Fields | null): Check[] {
  const timing = fieldsOf(verdict["timing"]);
  const families = new Set(objectsOf(evidence?.["trials"]).map((trial) => textOf(trial["inputs"])));
  const share = shareOf(verdict["triton_share"]);
  const clocks = clocksOf(evidence);
  const roof = shareOf(timing["roofline_share"]);
  const level = textOf(fieldsOf(verdict["isolation"])["level"]);
  const samples = Math.min(listOrNull(timing["reference_samples_ms"])?.length ?? 0, listOrNull(timing["kernel_samples_ms"])?.length ?? 0);
  const sanitized = sanitizedOf(verdict);
  const gpuChecks: Check[] = [
    { part: "clocks", name: "Both clocks", tone: clocks === null ? "mute" : clocks.agree ? "good" : "warn", says: clocks === null ? MISSING : clocks.agree ? "agree" : "disagree" },
    { part: "roofline", name: "Roofline", tone: roof === null ? "mute" : roof > 1 ? "warn" : "neutral", says: roof === null ? MISSING : `${percent(roof, 1)} of the memory's speed` },
  ];
  return [
    trials(verdict, evidence),
    { part: "families", name: "Input families", tone: families.size === 0 ? "mute" : families.size > 1 ? "good" : "warn", says: families.size === 0 ? MISSING : `${counted(families.size, "family", "families")} tried` },
    worstOf("certificate", "Empty answers", objectsOf(fieldsOf(evidence?.["certificate"])["answers"]).map(answerLine), "none passes"),
    worstOf("decoys", "Decoys", objectsOf(evidence?.["decoys"]).map(decoyLine), "wrong without its launches"),
    worstOf("audits", "Audits", objectsOf(evidence?.["audits"]).map(auditLine), "right"),
    ...(sanitized === null ? [] : [sanitizers(sanitized)]),
    { part: "launches", name: "Origin of kernels", tone: share === null ? "mute" : share > 0 ? "good" : "bad", says: share === null ? (isInterpreted(verdict) ? "device time needs a GPU" : MISSING) : `${percent(share, 1)} of device time in attested kernels` },
    { part: "timing", name: "Samples", tone: samples === 0 ? "mute" : "good", says: samples === 0 ? "speed was not measured" : `${samples} or more a side, ${textOf(timing["instrument"]) ?? "timer not recorded"}` },
    ...(isInterpreted(verdict) ? [] : gpuChecks),
    { part: "isolation", name: "Isolation", tone: level === null ? "mute" : level === "full" ? "good" : "warn", says: level ?? MISSING },
  ];
}

function show(part: string): void {
  const element = document.getElementById(`part-${part}`);
  element?.scrollIntoView({ block: "start" });
  element?.focus({ preventScroll: true });
}

export function CheckList({ verdict, evidence }: { verdict: Fields; evidence: Fields | null }): JSX.Element {
  return (
    <ul class="checks" aria-label="Checks">
      {checksOf(verdict, evidence).map((check) => (
        <li>
          <button type="button" class="check" onClick={() => show(check.part)}>
            <span class="check-name">{check.name}</span>
            <Outcome tone={check.tone}><Text value={check.says} limit={160} /></Outcome>
          </button>
        </li>
      ))}
    </ul>
  );
}
