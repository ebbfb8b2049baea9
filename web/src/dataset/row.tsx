// One row of a data set: its text, its twin, the texts that it resembles, its licence and its labels.
import type { JSX } from "preact";
import { Code, CodeBar, Difference } from "../code";
import type { DatasetDetail } from "../format";
import { type Fields, fieldsOf, fieldsOrNull, flagOf, listOrNull, numberOf, objectsOf, shareOf, textOf } from "../fields";
import { Guard } from "../guard";
import { count, NONE, percent } from "../numbers";
import { here, href, param, report } from "../state";
import { Text } from "../text";
import { Facts, Section } from "../ui";

/** A field as text; a conversation as its messages one after another. */
function contentOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return null;
  return objectsOf(value)
    .map((message) => `# ${textOf(message["role"]) ?? "message"}\n${textOf(message["content"]) ?? ""}`)
    .join("\n\n");
}

export function DatasetRow({ detail }: { detail: DatasetDetail }): JSX.Element {
  const row = fieldsOf(detail.row);
  const prompt = contentOf(row["prompt"]) ?? contentOf(row["messages"]);
  const completion = contentOf(row["completion"]);
  return (
    <>
      <header class="dataset-head">
        <h1>
          Row <Text value={textOf(row["id"]) ?? detail.key} limit={80} />
        </h1>
        <a href={href("dataset")}>All rows</a>
      </header>
      <Guard title="The facts">
        <RowFacts row={row} />
      </Guard>
      <Guard title="The twin">
        <Twin twin={fieldsOrNull(detail.twin)} duplicateOf={textOf(row["duplicate_of"])} completion={completion} prompt={prompt} />
      </Guard>
      <Guard title="The likenesses">
        <Leaks leaks={objectsOf(row["leakage"])} texts={{ prompt, completion }} />
      </Guard>
      <Section title="Text">
        <div class="dataset-texts">
          <TextBox title="Prompt" text={prompt} />
          <TextBox title="Completion" text={completion} />
        </div>
      </Section>
    </>
  );
}

function TextBox({ title, text }: { title: string; text: string | null }): JSX.Element {
  if (text === null)
    return (
      <div class="code-box">
        <p class="mute note">{title}: not in this report.</p>
      </div>
    );
  return (
    <div class="code-box">
      <CodeBar title={title} code={text} />
      <Code code={text} label={title} />
    </div>
  );
}

function RowFacts({ row }: { row: Fields }): JSX.Element {
  const source = fieldsOf(row["source"]);
  const licence = fieldsOf(row["licence"]);
  const labels = fieldsOf(row["labels"]);
  const hole = fieldsOrNull(row["hole"]);
  const spdx = textOf(licence["spdx"]);
  const properties = Object.entries(labels).filter(([, value]) => value === true).map(([name]) => name.slice(0, 60)).slice(0, 30);
  const place = [textOf(source["name"]), textOf(source["version"]) ?? textOf(source["commit"])?.slice(0, 12), textOf(source["path"])].filter((part) => part !== null && part !== undefined);
  return (
    <Facts
      facts={[
        ["Kind", <Text value={textOf(row["kind"]) ?? NONE} limit={60} />],
        ["Split", <Text value={textOf(row["split"]) ?? NONE} limit={60} />],
        ["Tokens", count(numberOf(row["tokens"]))],
        ["Licence", spdx === null ? <span class="warn">! unknown</span> : <Text value={spdx} limit={120} />],
        ["Evidence of the licence", <Text value={textOf(licence["evidence"]) ?? "not recorded"} limit={200} />],
        ["Source", <Text value={place.join(" ") || NONE} limit={300} />],
        ["Compile label", <Text value={textOf(labels["compile"]) ?? NONE} limit={60} />],
        ...(textOf(labels["compile_reason"]) ? [["Because", <Text value={labels["compile_reason"]} limit={300} />] as [string, JSX.Element]] : []),
        ["Properties", <Text value={properties.join(", ") || "none"} />],
        ["Hole", <Text value={hole ? `${textOf(hole["node"]) ?? "?"}, ${textOf(hole["rendering"]) ?? "?"}` : NONE} limit={80} />],
      ]}
    />
  );
}

function Twin(props: { twin: Fields | null; duplicateOf: string | null; completion: string | null; prompt: string | null }): JSX.Element | null {
  const { twin, duplicateOf } = props;
  if (!twin && duplicateOf === null) return null;
  const key = textOf(twin?.["key"]);
  const name = key ?? textOf(twin?.["id"]) ?? duplicateOf ?? "another row";
  const known = key !== null && (report.value?.rowOf(key) ?? null) !== null;
  const text = typeof twin?.["text"] === "string" ? twin["text"] : null;
  const own = props.completion ?? "";
  const side = param("view") === "side";
  return (
    <Section
      title="Duplicate"
      aside={
        text === null ? undefined : (
          <a href={here({ view: side ? null : "side" })}>{side ? "Show the difference" : "Show side by side"}</a>
        )
      }
    >
      <p>
        This row duplicates {known ? <a href={href("dataset", [key])}><Text value={name} limit={120} /></a> : <span class="mono"><Text value={name} limit={120} /></span>}.
      </p>
      {text === null ? (
        <p class="mute">The text of that row is not in this report.</p>
      ) : text === own ? (
        <p>Both texts are equal, byte by byte.</p>
      ) : side ? (
        <div class="dataset-texts">
          <TextBox title="The kept row" text={text} />
          <TextBox title="This row" text={own} />
        </div>
      ) : (
        <div class="code-box">
          <CodeBar title="From the kept row to this one" code={own} />
          <Difference before={text} after={own} label="Difference of the kept row and this one" />
        </div>
      )}
    </Section>
  );
}

const RELATIONS: Record<string, string> = {
  benchmark: "resembles a benchmark",
  rows: "resembles other rows of this set",
  split: "resembles a row of the other split",
  prompt_completion: "prompt and completion resemble each other",
};

/** The first place of a likeness: the lines around a span of bytes. */
function excerpt(text: string | null, span: unknown): string | null {
  const list = listOrNull(span);
  const [from, to] = [numberOf(list?.[0]), numberOf(list?.[1])];
  if (text === null || from === null || to === null || from < 0 || to <= from) return null;
  const encoded = new TextEncoder().encode(text.slice(0, 1 << 20));
  if (from >= encoded.length) return null;
  return new TextDecoder().decode(encoded.subarray(from, Math.min(to, from + 2000)));
}

function Leaks({ leaks, texts }: { leaks: readonly Fields[]; texts: { prompt: string | null; completion: string | null } }): JSX.Element | null {
  if (leaks.length === 0) return null;
  return (
    <Section title="What it resembles">
      <div class="cards">
        {leaks.slice(0, 30).map((leak) => {
          const field = textOf(leak["field"]);
          const text = field === "prompt" ? texts.prompt : field === "completion" ? texts.completion : null;
          const relation = textOf(leak["relation"]) ?? "";
          const place = excerpt(text, listOrNull(leak["spans"])?.[0]);
          return (
            <article class="card">
              <h3>{Object.hasOwn(RELATIONS, relation) ? RELATIONS[relation] : <Text value={relation} limit={60} />}</h3>
              <Facts
                facts={[
                  ["Against", <Text value={textOf(leak["against"]) ?? NONE} limit={120} />],
                  ["Row", <Text value={textOf(leak["row"]) ?? NONE} limit={200} />],
                  ["Jaccard index of words", percent(shareOf(leak["jaccard"]), 1)],
                  ["Windows of the other text in this row", percent(shareOf(leak["containment"]), 1)],
                  ["After names were renamed", flagOf(leak["renamed"]) === null ? NONE : leak["renamed"] ? "yes" : "no"],
                  ["Field", <Text value={field ?? NONE} limit={40} />],
                ]}
              />
              {place !== null && (
                <div class="code-box dataset-place">
                  <CodeBar title="First place" code={place} />
                  <Code code={place} label="The first place of the likeness" />
                </div>
              )}
            </article>
          );
        })}
      </div>
    </Section>
  );
}
