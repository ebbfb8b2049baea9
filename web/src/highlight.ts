// Code as lines of runs with a class each. highlight.js gives its runs to an emitter of ours; no HTML is made.
import hljs from "highlight.js/lib/core";
import cpp from "highlight.js/lib/languages/cpp";
import diff from "highlight.js/lib/languages/diff";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";

export type Language = "python" | "cpp" | "json" | "diff" | "plain";
export interface Run {
  text: string;
  /** A class of style.css, `code-…`; empty for plain text. */
  tone: string;
}
export type Line = Run[];

export const HIGHLIGHT_BYTES = 256 * 1024;
export const HIGHLIGHT_MS = 50;
/** A line this long is data; the expressions of a grammar may need quadratic time for it. */
const LINE_LENGTH = 2000;

const TONES: Record<string, string> = {
  keyword: "keyword",
  built_in: "type",
  type: "type",
  class: "type",
  string: "string",
  regexp: "string",
  number: "number",
  literal: "number",
  symbol: "number",
  comment: "comment",
  doctag: "comment",
  meta: "name",
  title: "name",
  function: "name",
  attr: "name",
  addition: "added",
  deletion: "removed",
};

class TimeOver extends Error {}

/** Receives what highlight.js recognises. */
class Emitter {
  runs: Run[] = [];
  private scopes: string[] = [];

  addText(text: string): void {
    if (text === "") return;
    if (performance.now() > deadline) throw new TimeOver("the time to highlight is over");
    let tone = "";
    for (let i = this.scopes.length - 1; i >= 0 && tone === ""; i--) tone = TONES[this.scopes[i]!.split(".")[0]!] ?? "";
    this.runs.push({ text, tone: tone && `code-${tone}` });
  }
  startScope(scope: string): void {
    this.scopes.push(scope);
  }
  endScope(): void {
    this.scopes.pop();
  }
  openNode(scope: string): void {
    this.startScope(scope);
  }
  closeNode(): void {
    this.endScope();
  }
  __addSublanguage(other: Emitter): void {
    this.runs.push(...other.runs);
  }
  finalize(): void {}
  toHTML(): string {
    return "";
  }
}

let deadline = 0;
hljs.registerLanguage("python", python);
hljs.registerLanguage("cpp", cpp);
hljs.registerLanguage("json", json);
hljs.registerLanguage("diff", diff);
hljs.configure({ __emitter: Emitter as never });

/** Lines as a reader counts them: a line feed at the end begins no line. */
function lineTexts(code: string): string[] {
  const lines = code.split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return lines;
}

export function plainLines(code: string): Line[] {
  return lineTexts(code).map((text) => (text === "" ? [] : [{ text, tone: "" }]));
}

function linesOf(runs: Run[]): Line[] {
  const lines: Line[] = [[]];
  for (const run of runs) {
    const parts = run.text.split("\n");
    parts.forEach((text, i) => {
      if (i > 0) lines.push([]);
      if (text !== "") lines.at(-1)!.push({ text, tone: run.tone });
    });
  }
  if (lines.length > 1 && lines.at(-1)!.length === 0) lines.pop();
  return lines;
}

/** The runs of a line, cut where the words of a difference begin and end. */
export function overlay(line: Line, words: { text: string; changed: boolean }[]): (Run & { changed: boolean })[] {
  const cut: (Run & { changed: boolean })[] = [];
  let run = 0;
  let at = 0;
  for (const word of words) {
    for (let left = word.text.length; left > 0 && line[run]; ) {
      const text = line[run]!.text.slice(at, at + left);
      cut.push({ text, tone: line[run]!.tone, changed: word.changed });
      left -= text.length;
      at += text.length;
      if (at >= line[run]!.text.length) {
        run++;
        at = 0;
      }
    }
  }
  return cut;
}

/** A regular expression of a grammar may be quadratic, and cannot be stopped: it sees this much at once. */
const BLOCK_BYTES = 16 * 1024;

/** True where a line can begin a block of its own: no construct of the language reaches over it. */
function cutter(language: Language): (line: string) => boolean {
  if (language === "json" || language === "diff") return () => true;
  let inside = false;
  const mark = language === "python" ? /"""|'''/g : /\/\*|\*\//g;
  return (line) => {
    const can = !inside && /^[A-Za-z_@#/]/.test(line);
    for (const found of line.matchAll(mark)) inside = language === "python" ? !inside : found[0] === "/*";
    return can;
  };
}

/** The code in blocks that are highlighted alone; null where a block would be too long. */
function blocksOf(code: string, language: Language): string[] | null {
  if (code.length <= BLOCK_BYTES) return [code];
  const canCut = cutter(language);
  const blocks: string[] = [];
  let block = "";
  for (const line of code.split(/(?<=\n)/)) {
    if (canCut(line) && block.length > BLOCK_BYTES / 2) {
      blocks.push(block);
      block = "";
    }
    block += line;
    if (block.length > BLOCK_BYTES) return null;
  }
  blocks.push(block);
  return blocks;
}

const warm = new Set<Language>();

/**
 * The lines of a code with tones; without tones where it is longer than 256 KiB, has very long lines, or takes more
 * than 50 ms.
 */
export function highlight(code: string, language: Language): Line[] {
  const plain = () => plainLines(code);
  if (language === "plain" || code.length > HIGHLIGHT_BYTES) return plain();
  if (code.split("\n").some((line) => line.length > LINE_LENGTH)) return plain();
  const blocks = blocksOf(code, language);
  if (!blocks) return plain();
  if (!warm.has(language)) {
    // The first call compiles the grammar.
    deadline = Infinity;
    hljs.highlight("x = 1\n", { language, ignoreIllegals: true });
    warm.add(language);
  }
  deadline = performance.now() + HIGHLIGHT_MS;
  try {
    const runs: Run[] = [];
    for (const block of blocks) {
      if (performance.now() > deadline) return plain();
      const result = hljs.highlight(block, { language, ignoreIllegals: true });
      if (result.errorRaised || result.illegal) return plain();
      for (const run of (result._emitter as unknown as Emitter).runs) runs.push(run);
    }
    return runs.reduce((length, run) => length + run.text.length, 0) === code.length ? linesOf(runs) : plain();
  } catch {
    return plain();
  }
}
