// Parts that several pages draw: a status with its sign, a number with its unit, a section, an empty state, a link to docs.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { counted } from "./charts/figures";
import type { Detail } from "./format";
import { NONE } from "./numbers";
import { dataVersion, report, source } from "./state";
import { Text, plain } from "./text";

/** The signs beside the colours: colour is never the only sign. */
const SIGNS: Record<string, { sign: string; tone: string }> = {
  correct: { sign: "\u2713", tone: "good" },
  "does not count": { sign: "\u25cb", tone: "warn" },
  incorrect: { sign: "\u2260", tone: "bad" },
  failed: { sign: "\u2715", tone: "bad" },
  error: { sign: "!", tone: "warn" },
  skipped: { sign: "\u2192", tone: "mute" },
};

/** A status with sign and colour. `counts` false turns a correct result into "does not count". `short`: the sign alone. */
export function Status({ status, counts, short = false }: { status: string | null; counts?: boolean | null; short?: boolean }) {
  if (!status) return <span class="mute">{NONE}</span>;
  const word = status === "correct" && counts === false ? "does not count" : status;
  const { sign, tone } = SIGNS[word] ?? { sign: "\u00b7", tone: "mute" };
  return (
    <span class={`status ${tone}`} title={short ? plain(word) : undefined}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      {short ? <span class="hidden-visually">{plain(word.slice(0, 100))}</span> : <Text value={word} limit={40} />}
    </span>
  );
}

/** A word of a verdict; its meaning appears on pointing and for screen readers, as `kernelwright explain` prints it. */
export function Word({ kind, word }: { kind: string; word: string | null }) {
  if (!word) return <span class="mute">{NONE}</span>;
  const meaning = report.value?.word(kind, word);
  if (!meaning) return <Text value={word} />;
  return (
    <span class="word" title={plain([meaning.meaning, meaning.remedy].filter((text) => typeof text === "string").join(" "))}>
      <Text value={word} />
    </span>
  );
}

export function Section(props: { title: string; id?: string; aside?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="section" id={props.id} aria-label={props.title}>
      <header class="section-head">
        <h2>{props.title}</h2>
        {props.aside ? <div class="section-aside">{props.aside}</div> : null}
      </header>
      {props.children}
    </section>
  );
}

/** Names and values side by side. */
export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>
            <Text value={name} limit={200} />
          </dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children ? <p>{children}</p> : null}
    </div>
  );
}

/** The button below a list that shows only its first `shown` entries; nothing once it shows all. */
export function ShowMore(props: { shown: number; of: number; noun: string; more: () => void }) {
  if (props.of <= props.shown) return null;
  return (
    <button type="button" class="quiet" onClick={props.more}>
      Show more of {counted(props.of, props.noun)}
    </button>
  );
}

export function Problem({ message, remedy }: { message: string; remedy: string }) {
  return (
    <div class="problem" role="alert">
      <p>
        <Text value={message} />
      </p>
      {remedy ? (
        <p class="mute">
          <Text value={remedy} />
        </p>
      ) : null}
    </div>
  );
}

/** The name of a page of the documentation, from text of the program alone: a reference to follow, not a link to the network. */
export function Docs({ page }: { page: string }) {
  return <span class="docs">{plain(page.startsWith("docs/") ? page : `docs/${page}`)}</span>;
}

type Loaded<T> = { state: "waiting" } | { state: "ready"; value: T } | { state: "failed"; message: string; remedy: string };

/** The detail of a key, loaded when it is first drawn and again when the report has changed. */
export function useDetail(key: string): Loaded<Detail> {
  const [loaded, setLoaded] = useState<{ key: string; result: Loaded<Detail> }>({ key, result: { state: "waiting" } });
  const of = source.value;
  const version = report.value;
  const data = dataVersion.value;
  useEffect(() => {
    let current = true;
    of?.detail(key).then(
      (value) => current && setLoaded({ key, result: { state: "ready", value } }),
      (error: Error & { remedy?: string }) =>
        current && setLoaded({ key, result: { state: "failed", message: error.message, remedy: error.remedy ?? "" } }),
    );
    return () => {
      current = false;
    };
  }, [of, key, version, data]);
  return loaded.key === key ? loaded.result : { state: "waiting" };
}
