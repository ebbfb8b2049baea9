// The difference of two codes by lines, bounded in size and time.
import { diffLines, diffWordsWithSpace } from "diff";

export const DIFF_BYTES = 256 * 1024;
export const DIFF_MS = 50;

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
  /** Line numbers from 1; null on the side where the line is missing. */
  before: number | null;
  after: number | null;
  /** Of a changed line: its pieces, and whether each is new (or gone). */
  words?: { text: string; changed: boolean }[];
}

const splitLines = (text: string): string[] => {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
};

/** The lines of both codes in order; null where they are too long or too different for the time. */
export function difference(before: string, after: string): DiffLine[] | null {
  if (before.length > DIFF_BYTES || after.length > DIFF_BYTES) return null;
  const end = performance.now() + DIFF_MS;
  // A last line without its line feed is no difference.
  const whole = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
  const parts = diffLines(whole(before), whole(after), { timeout: DIFF_MS });
  if (!parts) return null;
  const lines: DiffLine[] = [];
  let left = 1;
  let right = 1;
  for (const part of parts) {
    for (const text of splitLines(part.value)) {
      if (part.added) lines.push({ kind: "added", text, before: null, after: right++ });
      else if (part.removed) lines.push({ kind: "removed", text, before: left++, after: null });
      else lines.push({ kind: "same", text, before: left++, after: right++ });
    }
  }
  markWords(lines, end);
  return lines;
}

/** Where as many lines came as went, marks the words that differ. Stops when the time is over. */
function markWords(lines: DiffLine[], end: number): void {
  for (let i = 0; i < lines.length; ) {
    let removed = i;
    while (lines[removed]?.kind === "removed") removed++;
    let added = removed;
    while (lines[added]?.kind === "added") added++;
    const size = removed - i;
    if (size > 0 && added - removed === size) {
      for (let k = 0; k < size; k++) {
        const old = lines[i + k]!;
        const now = lines[removed + k]!;
        const left = end - performance.now();
        if (left <= 0) return;
        if (old.text.length > 1000 || now.text.length > 1000) continue;
        const words = diffWordsWithSpace(old.text, now.text, { timeout: left });
        if (!words) return;
        const kept = words.filter((word) => !word.added && !word.removed).reduce((sum, word) => sum + word.value.trim().length, 0);
        // Lines with little in common are two lines, not one that changed.
        if (3 * kept < Math.max(old.text.trim().length, now.text.trim().length)) continue;
        old.words = words.filter((word) => !word.added).map((word) => ({ text: word.value, changed: Boolean(word.removed) }));
        now.words = words.filter((word) => !word.removed).map((word) => ({ text: word.value, changed: Boolean(word.added) }));
      }
    }
    i = Math.max(added, i + 1);
  }
}

/** What a reader sees of a difference: changed lines with three lines around them, and gaps that unfold. */
export type DiffPart = { lines: DiffLine[] } | { gap: DiffLine[] };

export function fold(lines: DiffLine[], context = 3, keep: (line: DiffLine) => boolean = () => false): DiffPart[] {
  const shown = new Uint8Array(lines.length);
  lines.forEach((line, i) => {
    if (line.kind === "same" && !keep(line)) return;
    for (let k = Math.max(0, i - context); k <= Math.min(lines.length - 1, i + context); k++) shown[k] = 1;
  });
  const parts: DiffPart[] = [];
  for (let i = 0; i < lines.length; ) {
    let end = i;
    while (end < lines.length && shown[end] === shown[i]) end++;
    const part = lines.slice(i, end);
    // A gap of a line or two is shorter than its button.
    parts.push(shown[i] || part.length <= 2 ? { lines: part } : { gap: part });
    i = end;
  }
  return parts;
}
