// Builds the page: report.js, report.css and licences.txt in built/. The same sources give the same bytes.
// node build.mjs [--into FOLDER] [--tests FOLDER] [--watch]
import * as esbuild from "esbuild";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? null : process.argv[at + 1];
};

/** The packages that are in the bundle, with the text of their licences. */
function bundledLicences() {
  const lock = JSON.parse(readFileSync(join(here, "package-lock.json"), "utf8"));
  const found = [];
  for (const [path, facts] of Object.entries(lock.packages)) {
    if (!path || facts.dev) continue;
    const folder = join(here, path);
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    const extra = join(here, "licences", `${path.replace("node_modules/", "").replace("/", "__")}.txt`);
    const text = readFileSync(file ? join(folder, file) : extra, "utf8").replace(/\r/g, "").trim();
    found.push({ name: path.replace("node_modules/", ""), version: facts.version, licence: facts.license, text });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const licences = {
  name: "licences",
  setup(build) {
    build.onResolve({ filter: /^kernelwright:licences$/ }, () => ({ path: "licences", namespace: "licences" }));
    build.onLoad({ filter: /.*/, namespace: "licences" }, () => ({
      contents: `export const licences = ${JSON.stringify(bundledLicences())};`,
      loader: "js",
    }));
  },
};

const shared = {
  absWorkingDir: here,
  bundle: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  target: ["es2022"],
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
  plugins: [licences],
};

async function buildPage(folder) {
  const result = await esbuild.build({
    ...shared,
    entryPoints: { report: "src/main.tsx" },
    outdir: folder,
    format: "iife",
    minify: true,
    write: false,
  });
  mkdirSync(folder, { recursive: true });
  for (const file of result.outputFiles) {
    // The script and the style stand inside an HTML file: nothing in them may end or hide their element.
    const bad = file.text.match(/<\/?(script|style)|<!--/i);
    if (bad) throw new Error(`${file.path} contains ${bad[0]}, which HTML would read as markup`);
    writeFileSync(file.path, file.contents);
  }
  const texts = bundledLicences().map((l) => `${l.name} ${l.version} (${l.licence})\n\n${l.text}\n`);
  writeFileSync(join(folder, "licences.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
}

async function buildTests(folder) {
  await esbuild.build({
    ...shared,
    entryPoints: readdirSync(join(here, "tests")).filter((name) => /\.test\.tsx?$/.test(name)).map((name) => `tests/${name}`),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
    target: ["node18"],
  });
}

const tests = option("--tests");
if (tests) await buildTests(resolve(tests));
else await buildPage(resolve(option("--into") ?? join(here, "built")));
