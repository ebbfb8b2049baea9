// The verdicts of a detail, and the facts of one that the page shows. A fact that is absent is null: "not recorded".
import type { Detail } from "../format";
import { type Fields, fieldsOf, fieldsOrNull, indexText, numberOf, objectsOf, textOf } from "../fields";

export interface Judged {
  /** "2", or "1.2" for a turn of a trace with several conversations; null: a verdict without a trace. */
  turn: string | null;
  verdict: Fields;
  /** The verdict's evidence record; null: not recorded. */
  evidence: Fields | null;
  explained: Fields | null;
}

function judged(turn: string | null, verdict: unknown, explained: unknown): Judged | null {
  const fields = fieldsOrNull(verdict);
  return fields && { turn, verdict: fields, evidence: fieldsOrNull(fields["evidence"]), explained: fieldsOrNull(explained) };
}

function turnsOf(round: Fields, explained: unknown, prefix: string): Judged[] {
  const sentences = Array.isArray(explained) ? explained : [];
  return objectsOf(round["turns"])
    .map((turn, i) => judged(`${prefix}${numberOf(turn["turn"]) ?? i + 1}`, turn["result"], sentences[i]))
    .filter((one) => one !== null);
}

/** All verdicts of a detail in the order of their turns, and the one that represents it. */
export function verdictsOf(detail: Detail): { list: Judged[]; main: Judged | null } {
  const fields = detail as unknown as Fields;
  if (detail.kind === "verdict") {
    const one = judged(null, fields["verdict"], fields["explained"]);
    return { list: one ? [one] : [], main: one };
  }
  const trace = fieldsOf(fields["trace"]);
  const others = objectsOf(trace["other_rounds"]);
  const number = numberOf(trace["round"]) ?? 0;
  const prefixOf = (round: number): string => (others.length > 0 ? `${round}.` : "");
  const rounds = [
    { number, list: turnsOf(trace, fields["explained"], prefixOf(number)) },
    ...others.map((other, i) => {
      const own = numberOf(other["round"]) ?? i + 1;
      return { number: own, list: turnsOf(other, other["explained"], prefixOf(own)) };
    }),
  ].sort((a, b) => a.number - b.number);
  const own = rounds.find((round) => round.number === number)?.list ?? [];
  const final = numberOf(trace["final_turn"]);
  const main = own.find((one) => one.turn === `${prefixOf(number)}${final}`) ?? own.at(-1) ?? null;
  return { list: rounds.flatMap((round) => round.list), main };
}

/** Whether Triton's interpreter judged it: what only a GPU measures is missing by its nature. */
export const isInterpreted = (verdict: Fields): boolean => verdict["trust"] === "interpreter";

/** Why a verdict has no evidence record, and what keeps one. */
export function whyNoRecord(verdict: Fields): string {
  if (verdict["counts"] === true) return "This verdict has no evidence record: --evidence failed, the default, keeps none of a result that counts.";
  if (verdict["stage"] === "parse" || verdict["stage"] === "static") return "This verdict has no evidence record: the candidate never ran.";
  return "This verdict has no evidence record: --evidence none was set, or an earlier version wrote it.";
}

/** "float32 [4096, 4096]" */
export function tensorText(tensor: Fields): string {
  const shape = Array.isArray(tensor["shape"]) ? ` ${indexText(tensor["shape"])}` : "";
  return `${textOf(tensor["name"]) ?? textOf(tensor["output"]) ?? "tensor"}: ${textOf(tensor["dtype"]) ?? "dtype not recorded"}${shape}`;
}
