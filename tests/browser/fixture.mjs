// Writes reports in the format of docs/report_format.md from JSON, so that pages are tested without the program.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const CHUNK_BYTES = 256 * 1024;

const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The shell with policy, style and script. `head`: further elements, `data`: what follows the script. */
export function shell({ head = "", data = "", connect = "" } = {}) {
  const style = readFileSync(join(ROOT, "web/built/report.css"), "utf8");
  const script = readFileSync(join(ROOT, "web/built/report.js"), "utf8");
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    ...(connect ? [`connect-src ${connect}`] : []),
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>report</title>
${head}<style>${style}</style>
<script>${script}</script>
</head>
<body>
<noscript>This report needs JavaScript, and no network.</noscript>
${data}</body>
</html>
`;
}

/** A table by columns of a list of objects; columns of words have `words` and `at`. */
export function columnsOf(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = {};
  for (const name of names) {
    const values = rows.map((row) => row[name] ?? null);
    const isWords = values.some((value) => typeof value === "string") && values.every((value) => value === null || typeof value === "string");
    if (!isWords) {
      columns[name] = values;
      continue;
    }
    const words = [...new Set(values.filter((value) => value !== null))];
    const at = new Map(words.map((word, i) => [word, i]));
    columns[name] = { words, at: values.map((value) => (value === null ? -1 : at.get(value))) };
  }
  return { count: rows.length, columns };
}

/** Packs details into chunks, and sets the place of each in its row. */
export function pack(rows, details) {
  const chunks = [];
  let parts = [];
  let length = 0;
  const flush = () => {
    if (length > 0) chunks.push(Buffer.concat(parts, length));
    parts = [];
    length = 0;
  };
  for (const row of rows) {
    const detail = details[row.key];
    if (!detail) continue;
    const line = Buffer.from(JSON.stringify(detail) + "\n");
    if (length > 0 && length + line.length > CHUNK_BYTES) flush();
    Object.assign(row, { chunk: chunks.length, offset: length, bytes: line.length - 1 });
    parts.push(line);
    length += line.length;
  }
  flush();
  return chunks;
}

/** The index of a world: `{title, sources, rows, turns, details, summary, ...}`. */
export function indexOf(world, chunks) {
  return {
    schema: "kernelwright.report/1",
    program_version: "0.9.0",
    made_at: "2026-01-01T00:00:00Z",
    title: world.title ?? "a report",
    contents: world.contents ?? { redacted: false, holds: [], left_out: [] },
    sources: world.sources ?? [],
    rows: columnsOf(world.rows ?? []),
    turns: columnsOf(world.turns ?? []),
    summary: world.summary ?? {},
    scores: world.scores ?? [],
    datasets: world.datasets ?? [],
    words: world.words ?? {},
    chunks,
  };
}

/** Writes `path`, and `report.kwdata` beside it where `dataFile` is its path. `spoil(parts)` may break what is written. */
export function writeReport(path, world, { dataFile = null, spoil = null } = {}) {
  const rows = (world.rows ?? []).map((row) => ({ ...row }));
  const raw = pack(rows, world.details ?? {});
  const stored = raw.map((bytes) => deflateSync(bytes));
  const facts = raw.map((bytes) => ({ raw_bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }));
  let extra = {};
  if (dataFile) {
    let at = 8;
    stored.forEach((bytes, i) => {
      Object.assign(facts[i], { at, stored_bytes: bytes.length });
      at += bytes.length;
    });
    extra = { data_file: { name: "report.kwdata", bytes: at } };
    writeFileSync(dataFile, Buffer.concat([Buffer.from("kwdata1\n"), ...stored]));
  }
  const parts = { index: { ...indexOf({ ...world, rows }, facts), ...extra }, stored: dataFile ? [] : stored };
  spoil?.(parts);
  const index = Buffer.isBuffer(parts.index) ? parts.index : Buffer.from(JSON.stringify(parts.index));
  const pieces = [
    `<script type="application/vnd.kernelwright.index" data-raw-bytes="${parts.indexBytes ?? index.length}">${(parts.indexStored ?? deflateSync(index)).toString("base64")}</script>\n`,
    ...parts.stored.map((bytes, i) => `<script type="application/vnd.kernelwright.chunk" id="chunk-${i}">${bytes.toString("base64")}</script>\n`),
  ];
  writeFileSync(path, shell({ data: parts.cut ? pieces.join("").slice(0, parts.cut) : pieces.join("") }));
}
