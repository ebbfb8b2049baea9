// A table by columns, with checks: a broken column is null everywhere, and never stops the page.
import type { Column, Columns, Scalar } from "./format";

type Values = { list: Scalar[] } | { words: string[]; at: number[] };

function checked(column: Column | undefined): Values | null {
  if (Array.isArray(column)) return { list: column };
  if (column && Array.isArray(column.words) && Array.isArray(column.at)) return { words: column.words, at: column.at };
  return null;
}

export class Table {
  readonly count: number;
  readonly names: string[];
  private readonly columns = new Map<string, Values>();

  constructor(source: Columns | undefined) {
    const columns = source?.columns ?? {};
    for (const [name, column] of Object.entries(columns)) {
      const values = checked(column);
      if (values) this.columns.set(name, values);
    }
    this.names = [...this.columns.keys()];
    const count = source?.count;
    // Not more than there are values: a few bytes would otherwise state rows that take all memory.
    let longest = 0;
    for (const values of this.columns.values()) longest = Math.max(longest, ("list" in values ? values.list : values.at).length);
    this.count = typeof count === "number" && Number.isInteger(count) && count >= 0 ? Math.min(count, longest) : 0;
  }

  has(name: string): boolean {
    return this.columns.has(name);
  }

  value(name: string, row: number): Scalar {
    const values = this.columns.get(name);
    if (!values) return null;
    const value = "list" in values ? values.list[row] : values.words[values.at[row] ?? -1];
    return value === undefined || (typeof value === "object" && value !== null) ? null : value;
  }

  /** The value as text, also of a number; null where there is none. */
  text(name: string, row: number): string | null {
    const value = this.value(name, row);
    return value === null ? null : String(value);
  }

  number(name: string, row: number): number | null {
    const value = this.value(name, row);
    return typeof value === "number" && Number.isFinite(value) ? value : null;
  }

  flag(name: string, row: number): boolean | null {
    const value = this.value(name, row);
    return typeof value === "boolean" ? value : null;
  }

  /** True where at least one row has a value. */
  any(name: string): boolean {
    for (let row = 0; row < this.count; row++) if (this.value(name, row) !== null) return true;
    return false;
  }

  /** The distinct values as text, with the number of rows of each; `""` stands for null. Sorted, numbers by size. */
  distinct(name: string, rows?: ArrayLike<number>): { word: string; count: number }[] {
    const counts = new Map<string, number>();
    const length = rows ? rows.length : this.count;
    for (let i = 0; i < length; i++) {
      const word = this.text(name, rows ? rows[i]! : i) ?? "";
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    return [...counts].map(([word, count]) => ({ word, count })).sort((a, b) => compareWords(a.word, b.word));
  }
}

/** Numbers by size before words by code point; the empty word last. */
export function compareWords(a: string, b: string): number {
  if (a === b) return 0;
  if (a === "") return 1;
  if (b === "") return -1;
  const left = Number(a);
  const right = Number(b);
  if (!Number.isNaN(left) && !Number.isNaN(right)) return left - right;
  return a < b ? -1 : 1;
}
