// Data set: charts of its analysis, its rows, and one row with the evidence of duplicates, leaks and licence.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { counted } from "../charts/figures";
import { Analysis } from "../dataset/analysis";
import { Dropped } from "../dataset/dropped";
import { DatasetRow } from "../dataset/row";
import { DatasetRows } from "../dataset/rows";
import { type Fields, fieldsOf, numberOf, objectsOf, textOf } from "../fields";
import { Guard } from "../guard";
import type { Report } from "../report";
import { filtered, href, place, report } from "../state";
import { plain } from "../text";
import { Empty, Problem, Section, useDetail } from "../ui";
import "../dataset/dataset.css";
import "../evidence/evidence.css";

export function Dataset(): JSX.Element | null {
  const key = place.value.parts[0] ?? "";
  return key === "" ? <DatasetList /> : <OneRow key={key} name={key} />;
}

function OneRow({ name }: { name: string }): JSX.Element {
  const loaded = useDetail(name);
  if (loaded.state === "waiting") return <p class="mute" role="status">Reading …</p>;
  if (loaded.state === "failed") return <Problem message={loaded.message} remedy={loaded.remedy} />;
  if (loaded.value.kind !== "dataset")
    return (
      <Empty title="This is no row of a data set">
        <a href={href("transcript", [name])}>Open its transcript.</a>
      </Empty>
    );
  return <DatasetRow detail={loaded.value} />;
}

function DatasetList(): JSX.Element | null {
  const of = report.value;
  const left = filtered.value;
  const rows = useMemo(() => (of ? Array.from(left).filter((row) => of.rows.value("kind", row) === "dataset") : []), [of, left]);
  if (!of) return null;
  const analyses = objectsOf(of.index.datasets);
  if (analyses.length === 0 && rows.length === 0) return <Empty title="This report has no data set">kernelwright report FOLDER adds one that dataset build wrote.</Empty>;
  return (
    <>
      {analyses.slice(0, 20).map((analysis) => (
        <Section title={titleOf(of, analysis)}>
          <Guard title="The analysis">
            {analysis["rows"] !== undefined && <Analysis of={analysis} />}
            <Dropped of={fieldsOf(analysis["dropped"])} />
          </Guard>
        </Section>
      ))}
      <Section title="Rows" aside={counted(rows.length, "row")}>
        <DatasetRows of={of} rows={rows} />
      </Section>
    </>
  );
}

/** The name of the source of an analysis: its number in `sources`, or a name. */
function titleOf(of: Report, analysis: Fields): string {
  const source = analysis["source"];
  const number = numberOf(source);
  return plain((number === null ? textOf(source) : (of.sources[number]?.name ?? null)) ?? "Analysis").slice(0, 200);
}
