// The entry: chooses where the data come from, and draws the shell.
import { render } from "preact";
import { FileSource } from "./file_source";
import { LiveSource } from "./live_source";
import { Shell } from "./shell";
import { watch } from "./state";
import "./style.css";

function start(): void {
  const root = document.createElement("div");
  root.id = "app";
  document.body.prepend(root);
  const token = document.querySelector('meta[name="kernelwright-live"]')?.getAttribute("content");
  const run = new URLSearchParams(location.search).get("run");
  watch(token === null || token === undefined ? new FileSource() : new LiveSource(token, run));
  render(<Shell />, root);
}

// The script stands before the data, and perhaps before the body: it draws as soon as there is a body.
function whenBody(): void {
  if (document.body) start();
  else setTimeout(whenBody, 0);
}
whenBody();
