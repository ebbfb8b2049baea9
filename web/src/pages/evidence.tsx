// Evidence of a verdict: the facts on which it rests, each with its meaning. What is not recorded says so.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Audits, Certificate, Decoys, Sanitizers } from "../evidence/checks";
import { Environment, Isolation, Stages } from "../evidence/circumstances";
import { Launches } from "../evidence/launches";
import { isInterpreted, type Judged, verdictsOf, whyNoRecord } from "../evidence/record";
import { CheckList } from "../evidence/summary";
import { Clocks, Roof, Timing } from "../evidence/timing";
import { Families, Mismatch, Tolerance, Trials } from "../evidence/trials";
import { flagOf, numberOf, textOf } from "../fields";
import type { Detail } from "../format";
import { Guard } from "../guard";
import { times } from "../numbers";
import { nameOf } from "../selection";
import { here, href, param, place, report } from "../state";
import { Text } from "../text";
import { Empty, Problem, Status, Word, useDetail } from "../ui";
import "../evidence/evidence.css";

export function Evidence(): JSX.Element {
  const key = place.value.parts[0] ?? "";
  const loaded = useDetail(key);
  if (key === "") return <Empty title="No verdict is chosen">The table and the transcripts link to the evidence of each verdict.</Empty>;
  if (loaded.state === "waiting") return <p class="mute" role="status">Reading …</p>;
  if (loaded.state === "failed") return <Problem message={loaded.message} remedy={loaded.remedy} />;
  return <EvidenceOf key={key} name={key} detail={loaded.value} />;
}

function EvidenceOf({ name, detail }: { name: string; detail: Detail }): JSX.Element {
  const { list, main } = useMemo(() => (detail.kind === "dataset" ? { list: [], main: null } : verdictsOf(detail)), [detail]);
  const wanted = param("turn");
  const judged = (wanted === null ? null : list.find((one) => one.turn === wanted)) ?? main;
  if (!judged)
    return (
      <Empty title="There is no verdict here">
        <a href={href(detail.kind === "dataset" ? "dataset" : "transcript", [name])}>Open the entry itself.</a>
      </Empty>
    );
  return (
    <>
      <Head name={name} judged={judged} />
      {list.length > 1 && <TurnTabs list={list} judged={judged} />}
      <Guard title="The summary">
        <CheckList verdict={judged.verdict} evidence={judged.evidence} />
      </Guard>
      <Parts key={judged.turn ?? ""} judged={judged} />
    </>
  );
}

function Head({ name, judged }: { name: string; judged: Judged }): JSX.Element {
  const of = report.value;
  const row = of?.rowOf(name) ?? null;
  const { verdict, evidence, explained } = judged;
  const speedup = numberOf(verdict["speedup"]);
  const sentence = textOf(explained?.["sentence"]);
  return (
    <>
      <header class="evidence-head">
        <h1>
          Evidence: <Text value={of && row !== null ? nameOf(of, row) : name} limit={120} />
          {judged.turn !== null && `, turn ${judged.turn}`}
        </h1>
        <Status status={textOf(verdict["status"])} counts={flagOf(verdict["counts"])} />
        {speedup !== null && <b class="number">{times(speedup)}</b>}
        <span>
          Trust: <Word kind="trust" word={textOf(verdict["trust"])} />
        </span>
        <a href={href("transcript", [name], { turn: judged.turn })}>{judged.turn === null ? "Code and verdict" : "Transcript"}</a>
      </header>
      {sentence && (
        <p class="evidence-sentence">
          <Text value={sentence} limit={600} />
        </p>
      )}
      {evidence === null && (
        <p class="evidence-sentence mute">
          {flagsWhole(`${whyNoRecord(verdict)} --evidence all keeps the record of every verdict whose candidate ran.`)}
        </p>
      )}
    </>
  );
}

/** Text whose flags are code that no line break divides. */
function flagsWhole(text: string): (string | JSX.Element)[] {
  return text.split(/(--evidence \w+)/).map((part, i) => (i % 2 === 0 ? part : <code>{part}</code>));
}

function TurnTabs({ list, judged }: { list: readonly Judged[]; judged: Judged }): JSX.Element {
  return (
    <nav class="tabs" aria-label="Turns">
      {list.slice(0, 100).map((one) => (
        <a class="button" href={here({ turn: one.turn })} aria-current={one === judged ? "true" : undefined}>
          Turn {one.turn} <Status status={textOf(one.verdict["status"])} counts={flagOf(one.verdict["counts"])} />
        </a>
      ))}
    </nav>
  );
}

function Parts({ judged: { verdict, evidence } }: { judged: Judged }): JSX.Element {
  return (
    <div class="parts">
      <div class="parts-column">
        <Trials verdict={verdict} evidence={evidence} />
        <Mismatch verdict={verdict} evidence={evidence} />
        <Timing verdict={verdict} />
        {!isInterpreted(verdict) && <Roof verdict={verdict} evidence={evidence} />}
        <Launches verdict={verdict} evidence={evidence} />
      </div>
      <div class="parts-column">
        <Families evidence={evidence} />
        <Tolerance verdict={verdict} evidence={evidence} />
        <Certificate evidence={evidence} />
        <Decoys evidence={evidence} />
        <Audits evidence={evidence} />
        <Sanitizers verdict={verdict} />
        {!isInterpreted(verdict) && <Clocks verdict={verdict} evidence={evidence} />}
        <Isolation verdict={verdict} />
        <Environment verdict={verdict} />
        <Stages verdict={verdict} />
      </div>
    </div>
  );
}
