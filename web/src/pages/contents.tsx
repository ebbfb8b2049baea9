// What the file contains: the first thing that a reader sees, before anyone passes the file on.
import { licences } from "kernelwright:licences";
import type { SourceFacts } from "../format";
import { bytes, count, moment } from "../numbers";
import { href, report } from "../state";
import { Text } from "../text";
import { Facts, Section } from "../ui";

const NAMES: Record<string, string> = {
  dataset_rows: "data set rows",
  reasoning: "reasoning texts",
  paths: "file paths",
  hosts: "host names",
  keys: "service keys",
};
const nameOf = (what: unknown) => NAMES[String(what)] ?? String(what).replaceAll("_", " ");
const countedName = (what: unknown, number: number) => (number === 1 ? nameOf(what).replace(/s$/, "") : nameOf(what));
const FACT_NAMES: Record<string, string> = { "verdicts.program_version": "program version of the verdicts" };

/** One sentence for the top of page one, with a link to the whole list. */
export function ContentsStrip() {
  const of = report.value;
  if (!of) return null;
  const { holds, left_out, redacted } = of.index.contents;
  const held = holds.filter((one) => one.count > 0);
  return (
    <p class="strip">
      <span class="strip-title">This {of.index.chunks.length > 0 ? "file" : "page"} contains</span>{" "}
      {held.length === 0 ? "figures alone" : null}
      {held.map((one, i) => (
        <span key={i}>
          {i > 0 ? ", " : ""}
          <b>{count(one.count)}</b> <Text value={countedName(one.what, one.count)} />
        </span>
      ))}
      {redacted ? "; redacted" : ""}
      {left_out.length > 0 ? `; ${left_out.length} ${left_out.length === 1 ? "kind" : "kinds"} of content left out` : ""}. <a href={href("contents")}>Details</a>
    </p>
  );
}

function SourceCard({ of }: { of: SourceFacts }) {
  return (
    <article class="card">
      <h3>
        <Text value={of.name} />
      </h3>
      <p class="mute">
        <Text value={of.kind} />, <Text value={of.state} />
      </p>
      {of.messages.length > 0 ? (
        <ul class="messages">
          {of.messages.slice(0, 100).map((message, i) => (
            <li key={i}>
              <Text value={message} />
            </li>
          ))}
          {of.messages.length > 100 ? <li class="mute">{count(of.messages.length - 100)} more messages</li> : null}
        </ul>
      ) : null}
      <Facts facts={Object.entries(of.facts).map(([name, value]) => [FACT_NAMES[name] ?? name, <Text value={value === null ? "\u2013" : value} />])} />
    </article>
  );
}

export function ContentsPage() {
  const of = report.value!;
  const { holds, left_out, redacted } = of.index.contents;
  const raw = of.index.chunks.reduce((sum, chunk) => sum + chunk.raw_bytes, 0);
  return (
    <>
      <Section title="What this file contains">
        {redacted ? <p>The report is redacted: prompts, paths, hosts and keys are left out.</p> : null}
        {holds.length > 0 ? (
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Content</th>
                <th scope="col" class="number">Count</th>
              </tr>
            </thead>
            <tbody>
              {holds.map((one, i) => (
                <tr key={i}>
                  <td>
                    <Text value={nameOf(one.what)} />
                  </td>
                  <td class="number">{count(one.count)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        ) : (
          <p class="mute">The report does not state its contents.</p>
        )}
        {raw > 0 ? <p class="mute">{bytes(raw)} of details in {count(of.index.chunks.length)} chunks</p> : null}
      </Section>
      <Section title="Left out">
        {left_out.length === 0 ? (
          <p class="mute">Nothing was left out.</p>
        ) : (
          <ul class="messages">
            {left_out.map((one, i) => (
              <li key={i}>
                {count(one.count)} <Text value={countedName(one.what, one.count)} />: <Text value={one.why} />
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section title="Sources">
        <div class="cards">
          {of.sources.map((one, i) => (
            <SourceCard key={i} of={one} />
          ))}
        </div>
        {of.sources.length === 0 ? <p class="mute">The report has no sources.</p> : null}
      </Section>
      <Section title="This page">
        <p>
          Written by kernelwright <Text value={of.index.program_version} /> on <Text value={moment(of.index.made_at)} />. The page loads nothing from a network.
        </p>
        <details>
          <summary>Licences of the libraries in this page</summary>
          {licences.map((one) => (
            <details key={one.name} class="licence">
              <summary>
                {one.name} {one.version} ({one.licence})
              </summary>
              <pre tabIndex={0}>{one.text}</pre>
            </details>
          ))}
        </details>
      </Section>
    </>
  );
}
