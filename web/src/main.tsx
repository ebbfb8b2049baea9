// The entry: chooses where the data come from, and draws the shell.
import { render } from "preact";
import { FileSource } from "./file_source";
import { LiveSource } from "./live_source";
import { type Run, Runs } from "./pages/runs";
import { Shell } from "./shell";
import type { Source } from "./source";
import { watch } from "./state";
import "./style.css";

function start(): void {
  const root = document.createElement("div");
  root.id = "app";
  document.body.prepend(root);
  const token = document.querySelector('meta[name="kernelwright-live"]')?.getAttribute("content");
  const run = new URLSearchParams(location.search).get("run");
  if (token === null || token === undefined) show(new FileSource(), root);
  else live(new LiveSource(token, run), run, root);
}

function show(source: Source, root: HTMLElement): void {
  watch(source);
  render(<Shell />, root);
}

/** `view` of a folder shows its runs, unless the address names one. */
function live(source: LiveSource, run: string | null, root: HTMLElement): void {
  const read = async () => (await (await source.request("/api/runs")).json()) as Run[];
  if (run === null && document.querySelector('meta[name="kernelwright-folder"]')) render(<Runs read={read} />, root);
  else show(source, root);
}

// The script stands before the data, and perhaps before the body: it draws as soon as there is a body.
function whenBody(): void {
  if (document.body) start();
  else setTimeout(whenBody, 0);
}
whenBody();
