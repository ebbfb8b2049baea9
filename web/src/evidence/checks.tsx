// Whether a right result proves anything: decoys, empty answers, audits.
import type { JSX } from "preact";
import { counted } from "../charts/figures";
import { type Fields, fieldsOrNull, flagOf, listOrNull, numberOf, objectsOf, textOf } from "../fields";
import { type Sanitized, sanitizedOf } from "../sanitized";
import { Text } from "../text";
import { HELP, NotRecorded, Outcome, Part, type Tone } from "./part";

const CHECK_NAMES: Record<string, string> = {
  without_launches: "Without any launch",
  without_own_launches: "Without its own kernels",
  interpreted_without_launches: "Interpreted, without any launch",
  interpreted_with_spoilt_launches: "Interpreted, random numbers in place of what launches wrote",
  unrecorded_calls: "Calls without the recorder",
  kept_result: "First result after a second call",
  zeros: "Zeros",
  constant: "A constant",
  echo: "An input, unchanged",
  stale: "The output of an earlier call",
};

function nameOf(check: Fields): string {
  const name = textOf(check["name"]) ?? "unnamed";
  return Object.hasOwn(CHECK_NAMES, name) ? CHECK_NAMES[name]! : name;
}

interface Line {
  name: string;
  tone: Tone;
  outcome: string;
}

function Lines({ lines }: { lines: readonly Line[] }): JSX.Element {
  return (
    <table class="plain lines">
      <tbody>
        {lines.slice(0, 60).map((line) => (
          <tr>
            <th scope="row"><Text value={line.name} limit={120} /></th>
            <td><Outcome tone={line.tone}><Text value={line.outcome} limit={120} /></Outcome></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A result that is right without its launches is a decoy. */
export function decoyLine(check: Fields): Line {
  const outcome = textOf(check["outcome"]);
  const name = nameOf(check);
  if (outcome === "right") return { name, tone: "bad", outcome: "still right: the launches are decoys" };
  if (outcome === "wrong" || outcome === "failed") return { name, tone: "good", outcome: `${outcome}, as it must be` };
  return { name, tone: "mute", outcome: outcome === "not_run" ? "not run" : "not recorded" };
}

export function answerLine(answer: Fields): Line {
  const passes = flagOf(answer["passes"]);
  return { name: nameOf(answer), tone: passes === null ? "mute" : passes ? "bad" : "good", outcome: passes === null ? "not recorded" : passes ? "passes: a right result proves nothing" : "is refused" };
}

export function auditLine(check: Fields): Line {
  const outcome = textOf(check["outcome"]);
  const trials = numberOf(check["trials"]);
  const over = trials === null ? "" : `, ${counted(trials, "trial")}`;
  if (outcome === "right") return { name: nameOf(check), tone: "good", outcome: `right${over}` };
  if (outcome === "wrong" || outcome === "failed") return { name: nameOf(check), tone: "bad", outcome: `${outcome}${over}` };
  return { name: nameOf(check), tone: "mute", outcome: outcome === "not_run" ? "not run" : "not recorded" };
}

export function Decoys({ evidence }: { evidence: Fields | null }): JSX.Element {
  const decoys = listOrNull(evidence?.["decoys"]);
  return (
    <Part id="decoys" title="Decoys" help={HELP.decoys}>
      {decoys === null || decoys.length === 0 ? <NotRecorded why={decoys ? "no such call was made" : ""} /> : <Lines lines={objectsOf(decoys).map(decoyLine)} />}
    </Part>
  );
}

export function Certificate({ evidence }: { evidence: Fields | null }): JSX.Element {
  const certificate = fieldsOrNull(evidence?.["certificate"]);
  const sets = numberOf(certificate?.["input_sets"]);
  return (
    <Part id="certificate" title="Certificate: empty answers" help={HELP.certificate}>
      {certificate === null ? (
        <NotRecorded />
      ) : (
        <>
          <Lines lines={objectsOf(certificate["answers"]).map(answerLine)} />
          <p class="mute">{sets === null ? "The number of input sets is not recorded." : `Tried on ${counted(sets, "input set")}.`}</p>
        </>
      )}
    </Part>
  );
}

export function Audits({ evidence }: { evidence: Fields | null }): JSX.Element {
  const audits = listOrNull(evidence?.["audits"]);
  return (
    <Part id="audits" title="Audits" help={HELP.audits}>
      {audits === null || audits.length === 0 ? <NotRecorded why={audits ? "no audit was made" : ""} /> : <Lines lines={objectsOf(audits).map(auditLine)} />}
    </Part>
  );
}

const SANITIZED_TONES: Record<string, Tone> = { clean: "good", found: "bad" };

export function sanitizedLine({ check, outcome, says }: Sanitized): Line {
  return { name: check, tone: (outcome !== null && SANITIZED_TONES[outcome]) || "mute", outcome: says };
}

/** Nothing where no check was asked for. */
export function Sanitizers({ verdict }: { verdict: Fields }): JSX.Element | null {
  const checks = sanitizedOf(verdict);
  if (checks === null) return null;
  const findings = checks.flatMap((one) => one.findings.map((text) => `${one.check}: ${text}`));
  return (
    <Part id="sanitizers" title="Sanitizers" help={HELP.sanitizers}>
      {checks.length === 0 ? <p class="mute">No check ended: the error of this verdict has the reason.</p> : <Lines lines={checks.map(sanitizedLine)} />}
      {findings.length > 0 && (
        <ul class="notes">
          {findings.slice(0, 50).map((text) => (
            <li><Text value={text} limit={600} /></li>
          ))}
        </ul>
      )}
    </Part>
  );
}
