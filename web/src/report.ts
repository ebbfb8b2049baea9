// A report as the pages use it: the index with its tables, and where to find a key.
import type { Index, SourceFacts, Word } from "./format";
import { Table } from "./table";

export class Report {
  readonly rows: Table;
  readonly turns: Table;
  readonly sources: SourceFacts[];
  private readonly rowByKey = new Map<string, number>();
  private turnsByRow: number[][] | null = null;

  constructor(readonly index: Index) {
    this.rows = new Table(index.rows);
    this.turns = new Table(index.turns);
    this.sources = Array.isArray(index.sources) ? index.sources : [];
    for (let row = 0; row < this.rows.count; row++) {
      const key = this.rows.text("key", row);
      if (key !== null && !this.rowByKey.has(key)) this.rowByKey.set(key, row);
    }
  }

  rowOf(key: string): number | null {
    return this.rowByKey.get(key) ?? null;
  }

  keyOf(row: number): string {
    return this.rows.text("key", row) ?? "";
  }

  /** The numbers of the rows of `turns` that belong to a row, in their order. */
  turnsOf(row: number): number[] {
    if (!this.turnsByRow) {
      this.turnsByRow = [];
      for (let i = 0; i < this.turns.count; i++) {
        const owner = this.turns.number("row", i);
        if (owner !== null) (this.turnsByRow[owner] ??= []).push(i);
      }
    }
    return this.turnsByRow[row] ?? [];
  }

  sourceOf(row: number): SourceFacts | null {
    return this.sources[this.rows.number("source", row) ?? -1] ?? null;
  }

  word(kind: string, word: string | null): Word | null {
    const words = word === null ? undefined : this.index.words?.[kind];
    return words && Object.hasOwn(words, word!) ? (words[word!] ?? null) : null;
  }
}
