import assert from "node:assert/strict";
import { test } from "node:test";
import { difference, fold } from "../src/difference";
import { highlight, overlay } from "../src/highlight";
import { bytes, duration, interval, percent, significant, times } from "../src/numbers";
import { plain, visible } from "../src/text";

const shown = (text: string) => visible(text).map((piece) => (typeof piece === "string" ? piece : `[${(piece.props as unknown as { children: string }).children}]`)).join("");

test("invisible characters and those that turn the direction have names", () => {
  assert.equal(shown("a\u202eb\u200bc\u0007d\u{e0041}e"), "a[U+202E]b[U+200B]c[U+0007]d[U+E0041]e");
  assert.equal(plain("x\u2066y\ufeff"), "x<U+2066>y<U+FEFF>");
  assert.equal(shown("\ud800 half"), "[U+D800] half");
});

test("what people write stays as it is", () => {
  for (const text of ["a\tb\nc", "na\u00efve \u4e2d\u6587 \u05e2\u05d1\u05e8\u05d9\u05ea", "\u26a0\ufe0f \u2705", "<script>alert(1)</script> &amp;"]) assert.equal(shown(text), text);
  assert.equal(shown("a\r\nb"), "a\nb");
  assert.equal(shown("a\rb"), "a[U+000D]b");
});

const code = "import torch\n\n\ndef f(x):\n    # a comment\n    return 'text' + str(1.5)\n";
const texts = (lines: { text: string }[][]) => lines.map((line) => line.map((run) => run.text).join(""));

test("highlighted code is the code", () => {
  // A machine that is busy may leave a code plain: the limit is a time.
  let lines = highlight(code, "python");
  for (let tries = 0; tries < 20 && lines.flat().every((run) => run.tone === ""); tries++) lines = highlight(code, "python");
  assert.deepEqual(texts(lines), code.split("\n").slice(0, -1));
  assert.ok(lines.flat().some((run) => run.tone === "code-keyword" && run.text === "def"));
  assert.ok(lines.flat().some((run) => run.tone === "code-comment"));
});

test("a long code is highlighted in blocks, and strings over many lines stay strings", () => {
  const long = `${code}"""text\n${"a line of text\n".repeat(200)}def no_function():\n"""\n`.repeat(8);
  let lines = highlight(long, "python");
  for (let tries = 0; tries < 20 && lines.flat().every((run) => run.tone === ""); tries++) lines = highlight(long, "python");
  assert.deepEqual(texts(lines), long.split("\n").slice(0, -1));
  assert.ok(lines.flat().some((run) => run.tone === "code-keyword"));
  for (const line of lines) if (line[0]?.text.startsWith("def no_function")) assert.equal(line[0].tone, "code-string");
});

test("code that is too long, or has long lines, stays plain", () => {
  for (const long of ["def f():\n".repeat(40_000), `x = "${"a".repeat(5000)}"`]) assert.ok(highlight(long, "python").flat().every((run) => run.tone === ""));
});

test("hostile code is highlighted or left plain within its time", () => {
  const patterns = ["(", "[", "{", '"', "'", "\\", "f'{", "@", "0x", "1e", "def ", "class A(", '"""', "#", "//", "/*", "R\"(", "#define ", "template<", "::", "a:b,", "lambda ", "\t", "-> "];
  for (const language of ["python", "cpp", "json", "diff"] as const) {
    for (const pattern of patterns) {
      for (const text of [pattern.repeat(100_000 / pattern.length), `${pattern.repeat(90)}\n`.repeat(250_000 / (pattern.length * 90 + 1))]) {
        const begin = performance.now();
        const lines = highlight(text, language);
        const took = performance.now() - begin;
        assert.ok(took < 250, `${language} ${JSON.stringify(pattern)}: ${took} ms`);
        assert.equal(texts(lines).join("\n").length, text.endsWith("\n") ? text.length - 1 : text.length);
      }
    }
  }
});

test("a difference names the lines of both sides", () => {
  const lines = difference("a\nb\nc\n", "a\nB2\nc\nd\n")!;
  assert.deepEqual(lines.map(({ kind, text, before, after }) => [kind, text, before, after]), [
    ["same", "a", 1, 1],
    ["removed", "b", 2, null],
    ["added", "B2", null, 2],
    ["same", "c", 3, 3],
    ["added", "d", null, 4],
  ]);
  assert.ok(difference("x", "x\n")!.every((line) => line.kind === "same"));
  assert.deepEqual(difference("", ""), []);
});

test("words that differ in a line are marked, over the tones of the line", () => {
  const lines = difference("    x = load(p)\n", "    x = load(p, mask=m)\n")!;
  const added = lines.find((line) => line.kind === "added")!;
  assert.equal(added.words!.filter((word) => word.changed).map((word) => word.text).join(""), ", mask=m");
  const runs = overlay(highlight(added.text, "python")[0]!, added.words!);
  assert.equal(runs.map((run) => run.text).join(""), added.text);
  assert.equal(runs.filter((run) => run.changed).map((run) => run.text).join(""), ", mask=m");
});

test("codes that are too long or too different give no difference, soon", () => {
  assert.equal(difference("a".repeat(300_000), "b"), null);
  const lines = (salt: number) => Array.from({ length: 20_000 }, (_, i) => `${(i * 7919 + salt) % 20_011}`).join("\n");
  const begin = performance.now();
  difference(lines(1), lines(2));
  assert.ok(performance.now() - begin < 500);
});

test("equal lines far from a change are folded, and a line that is asked for is not", () => {
  const before = Array.from({ length: 40 }, (_, i) => `line ${i}`);
  const after = before.map((line, i) => (i === 20 ? "changed" : line));
  const lines = difference(before.join("\n"), after.join("\n"))!;
  const sizes = (parts: ReturnType<typeof fold>) => parts.map((part) => ("gap" in part ? -part.gap.length : part.lines.length));
  assert.deepEqual(sizes(fold(lines)), [-17, 8, -16]);
  assert.deepEqual(sizes(fold(lines, 3, (line) => line.after === 2)), [5, -12, 8, -16]);
});

test("numbers are written as people read them", () => {
  assert.deepEqual([1.534, 0.0871, 0.00124, 123.4, null, Number.NaN].map(times), ["1.53\u00d7", "0.087\u00d7", "0.0012\u00d7", "123\u00d7", "\u2013", "\u2013"]);
  assert.equal(interval(1.414, 1.66), "1.41\u20131.66");
  assert.deepEqual([0.0005, 0.045, 12.345, 1500, 65_000, 3_723_000].map(duration), ["0.500 \u00b5s", "45.0 \u00b5s", "12.3 ms", "1.50 s", "1 min 5 s", "1 h 2 min"]);
  assert.deepEqual([0, 0.000012, 1234567, -1.5].map((value) => significant(value)), ["0", "1.20e\u22125", "1234567", "\u22121.50"]);
  assert.deepEqual([0, 1023, 1536, 64 << 20].map(bytes), ["0 B", "1023 B", "1.50 KiB", "64.0 MiB"]);
  assert.equal(percent(0.256), "26%");
});
