// The units that a build left out: for another unit that they equal or resemble, or for their licence.
import type { JSX } from "preact";
import { counted } from "../charts/figures";
import { type Fields, fieldsOf, numberOf, objectsOf, textOf } from "../fields";
import { NONE, significant } from "../numbers";
import { Text } from "../text";
import { Wide } from "../wide";

const MOST = 200;

interface List {
  name: string;
  title: string;
  columns: readonly string[];
  cells: (unit: Fields) => readonly (string | null)[];
}

const LISTS: readonly List[] = [
  {
    name: "duplicates",
    title: "Units left out as duplicates",
    columns: ["How", "Jaccard", "Kept in its place"],
    cells: (unit) => [textOf(unit["how"]), likeness(unit["jaccard"]), textOf(unit["duplicate_of"])],
  },
  {
    name: "left_out",
    title: "Units left out for their licence",
    columns: ["Licence", "Evidence"],
    cells: (unit) => [textOf(fieldsOf(unit["licence"])["spdx"]) ?? "unknown", textOf(fieldsOf(unit["licence"])["evidence"])],
  },
];

function likeness(value: unknown): string | null {
  const number = numberOf(value);
  return number === null ? null : significant(number, 3);
}

/** The name of the source and the path within it. */
function placeOf(unit: Fields): string {
  const source = fieldsOf(unit["source"]);
  return [textOf(source["name"]), textOf(source["path"])].filter((part) => part !== null).join(": ");
}

export function Dropped({ of }: { of: Fields }): JSX.Element {
  return (
    <>
      {LISTS.map((list) => (
        <DroppedList list={list} units={objectsOf(fieldsOf(of[list.name])["units"])} total={numberOf(fieldsOf(of[list.name])["count"]) ?? 0} />
      ))}
    </>
  );
}

function DroppedList({ list, units, total }: { list: List; units: readonly Fields[]; total: number }): JSX.Element | null {
  if (total === 0) return null;
  const shown = units.slice(0, MOST);
  return (
    <details class="dataset-dropped">
      <summary>
        {list.title}: {counted(total, "unit")}
        {shown.length < total && `, the first ${shown.length} here`}
      </summary>
      <Wide label={list.title}>
        <table class="plain">
          <thead>
            <tr>
              {["Unit", "Source", ...list.columns].map((title) => (
                <th scope="col">{title}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((unit) => (
              <tr>
                {[textOf(unit["name"]), placeOf(unit), ...list.cells(unit)].map((cell) => (
                  <td><Text value={cell ?? NONE} limit={200} /></td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </details>
  );
}
