// What the checks of --sanitize found, in words.
import { counted } from "./charts/figures";
import { type Fields, listOrNull, objectsOf, textOf } from "./fields";

export interface Sanitized {
  check: string;
  /** "clean", "found" or "not_run"; null where it is another word. */
  outcome: string | null;
  says: string;
  findings: string[];
}

/** "read of 4 bytes, in add_kernel, of input x, at kernel.py:12". */
function findingText(finding: Fields): string {
  const parts = [textOf(finding["kind"]) ?? "finding"];
  for (const [field, before] of [["kernel", "in "], ["tensor", "of "], ["place", "at "]] as const) {
    const text = textOf(finding[field]);
    if (text !== null) parts.push(before + text);
  }
  return parts.join(", ");
}

function checkOf(fields: Fields): Sanitized {
  const check = textOf(fields["check"]) ?? "unnamed";
  const outcome = textOf(fields["outcome"]);
  const findings = objectsOf(fields["findings"]).map(findingText);
  const why = textOf(fields["why_not"]);
  if (outcome === "clean") return { check, outcome, says: "clean", findings };
  if (outcome === "found") return { check, outcome, says: findings.length === 0 ? "found a fault" : `found ${counted(findings.length, "fault")}`, findings };
  if (outcome === "not_run") return { check, outcome, says: why === null ? "not run" : `not run: ${why}`, findings };
  return { check, outcome: null, says: "not recorded", findings };
}

/** The checks that ended, in their order; null where none was asked for. */
export function sanitizedOf(verdict: Fields): Sanitized[] | null {
  return listOrNull(verdict["sanitized"]) === null ? null : objectsOf(verdict["sanitized"]).map(checkOf);
}

/** "bounds clean, memcheck not run: the tool is not installed"; null where none was asked for. */
export function sanitizedText(verdict: Fields): string | null {
  const checks = sanitizedOf(verdict);
  if (checks === null) return null;
  return checks.length === 0 ? "no check ended" : checks.map((one) => `${one.check} ${one.says}`).join(", ");
}
