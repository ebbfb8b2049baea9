// The charts of a data set, from its ANALYSIS.json.
import type { JSX } from "preact";
import { type Bar, BarList } from "../charts/bars";
import { type Stack, StackChart } from "../charts/by_turn";
import { counted } from "../charts/figures";
import { type Fields, fieldsOf, listOrNull, numberOf, objectsOf, textOf } from "../fields";
import { bytes, count, NONE } from "../numbers";
import { Text } from "../text";
import { Facts } from "../ui";
import { Wide } from "../wide";

/** Words with their counts, the most frequent first. */
function barsOf(counts: unknown): Bar[] {
  return Object.entries(fieldsOf(counts))
    .map(([name, value]) => ({ name, value: numberOf(value) ?? 0 }))
    .filter((bar) => bar.value > 0)
    .slice(0, 1000)
    .sort((a, b) => b.value - a.value);
}

function Counts(props: { title: string; counts: unknown; of?: number | null; series?: number }): JSX.Element | null {
  const bars = barsOf(props.counts);
  if (bars.length === 0) return null;
  return (
    <article class="card">
      <h3>{props.title}</h3>
      <BarList bars={bars} label={props.title} series={props.series ?? 0} {...(props.of ? { of: props.of } : {})} />
    </article>
  );
}

const LENGTHS: readonly [string, string][] = [
  ["prompt_characters", "Characters of the prompt"],
  ["completion_characters", "Characters of the completion"],
  ["tokens", "Tokens of prompt and completion"],
];

const short = (value: number): string => (value < 1024 ? String(value) : value < 1024 ** 2 ? `${value / 1024}k` : `${value / 1024 ** 2}M`);

/** Lengths in buckets that double: bucket n begins at 2^n. */
function Lengths({ title, of }: { title: string; of: Fields }): JSX.Element | null {
  const buckets = (listOrNull(of["buckets"]) ?? []).slice(0, 60).map((bucket) => numberOf(bucket) ?? 0);
  const first = buckets.findIndex((bucket) => bucket > 0);
  if (first < 0) return null;
  const last = buckets.findLastIndex((bucket) => bucket > 0);
  const stacks: Stack[] = buckets.slice(first, last + 1).map((value, i) => ({ label: short(2 ** (first + i)), values: [value] }));
  const figure = (name: string): string => count(numberOf(of[name]));
  return (
    <article class="card">
      <StackChart title={title} noun="from" axis="rows" parts={["rows"]} stacks={stacks}>
        <p class="mute">
          Least {figure("least")}, median bucket from {figure("median")}, most {figure("most")}, mean {figure("mean")}.
        </p>
      </StackChart>
    </article>
  );
}

export function Analysis({ of }: { of: Fields }): JSX.Element {
  const rows = fieldsOf(of["rows"]);
  const total = numberOf(rows["count"]);
  const units = barsOf(of["units"]).reduce((sum, bar) => sum + bar.value, 0);
  const duplicates = fieldsOf(of["duplicates"]);
  const lengths = fieldsOf(rows["lengths"]);
  const warnings = listOrNull(of["warnings"]) ?? [];
  return (
    <>
      <Facts
        facts={[
          ["Rows", count(total)],
          ["Units found", count(units)],
          ["Clusters of duplicates", count(numberOf(duplicates["clusters"]))],
          ["Tokenizer", <Text value={textOf(fieldsOf(of["tokenizer"])["name"]) ?? textOf(fieldsOf(of["tokenizer"])["why_null"]) ?? NONE} limit={200} />],
          ["Made by", <span class="mono"><Text value={textOf(of["made_by"]) ?? NONE} limit={400} /></span>],
        ]}
      />
      {warnings.length > 0 && (
        <ul class="messages">
          {warnings.slice(0, 50).map((warning) => (
            <li class="warn"><Text value={warning} /></li>
          ))}
        </ul>
      )}
      <div class="cards dataset-cards">
        <Counts title="Rows by kind" counts={rows["kinds"]} of={total} />
        <Counts title="Duplicates left out" counts={withoutClusters(duplicates)} series={1} />
        <Counts title="Rows flagged for review, by likeness" counts={rows["leaks"]} of={total} series={1} />
        <Counts title="Rows by licence" counts={rows["licences"]} of={total} series={2} />
        <Counts title="Rows by split" counts={rows["splits"]} of={total} />
        <Counts title="Kernels by compile label" counts={of["units_compile"]} series={3} />
        <Counts title="Why kernels do not compile" counts={of["compile_reasons"]} series={3} />
        <Counts title="Rows by property of the kernel" counts={rows["labels"]} of={total} />
        <Counts title="Holes" counts={rows["holes"]} />
        <Counts title="Renderings" counts={rows["renderings"]} />
        <Counts title="Rows by source" counts={rows["sources"]} of={total} />
      </div>
      <div class="cards dataset-cards">
        {LENGTHS.map(([name, title]) => <Lengths title={title} of={fieldsOf(lengths[name])} />)}
      </div>
      <SourceTable sources={objectsOf(of["sources"])} />
    </>
  );
}

/** The counts of units left out; clusters are sizes of another kind. */
function withoutClusters(duplicates: Fields): Fields {
  return Object.fromEntries(["exact", "renamed", "near"].map((name) => [name, duplicates[name]]));
}

function SourceTable({ sources }: { sources: readonly Fields[] }): JSX.Element | null {
  if (sources.length === 0) return null;
  const refused = (source: Fields): number => barsOf(source["licence_refused"]).reduce((sum, bar) => sum + bar.value, 0);
  return (
    <Wide label="Sources of the data set">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col">Version</th>
            <th scope="col" class="number">Files taken</th>
            <th scope="col" class="number">of</th>
            <th scope="col" class="number">Taken</th>
            <th scope="col">Licences</th>
            <th scope="col" class="number">Left out for licence</th>
          </tr>
        </thead>
        <tbody>
          {sources.slice(0, 200).map((source) => {
            const files = fieldsOf(source["files"]);
            return (
              <tr>
                <th scope="row"><Text value={textOf(source["name"]) ?? NONE} limit={120} /></th>
                <td><Text value={textOf(source["version"]) ?? textOf(source["commit"])?.slice(0, 12) ?? NONE} limit={60} /></td>
                <td class="number">{count(numberOf(files["taken"]))}</td>
                <td class="number">{count(numberOf(files["seen"]))}</td>
                <td class="number">{bytes(numberOf(files["bytes_taken"]))}</td>
                <td><Text value={barsOf(source["licences"]).map((bar) => `${bar.name} (${bar.value})`).join(", ") || NONE} limit={200} /></td>
                <td class="number">{counted(refused(source), "unit")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Wide>
  );
}
