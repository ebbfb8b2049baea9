// Readers of details, which may hold anything: a value of another type is null, a list is bounded.

export type Fields = Readonly<Record<string, unknown>>;

const MOST_ELEMENTS = 5000;

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The object, or null where there is none. */
export function fieldsOrNull(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** The elements of a list; null where there is no list. */
export function listOrNull(value: unknown): unknown[] | null {
  return Array.isArray(value) ? value.slice(0, MOST_ELEMENTS) : null;
}

/** The objects of a list. */
export function objectsOf(value: unknown): Fields[] {
  return (listOrNull(value) ?? []).map(fieldsOrNull).filter((one) => one !== null);
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A share of a whole; some pass 1, none is negative or without measure. */
export function shareOf(value: unknown): number | null {
  const number = numberOf(value);
  return number !== null && number >= 0 && number < 1e6 ? number : null;
}

export function flagOf(value: unknown): boolean | null {
  return typeof value === "boolean" ? value : null;
}

/** A number that JSON may lack: "nan", "inf" and "-inf". */
export function elementOf(value: unknown): number | null {
  if (value === "nan") return Number.NaN;
  if (value === "inf") return Number.POSITIVE_INFINITY;
  if (value === "-inf") return Number.NEGATIVE_INFINITY;
  return numberOf(value);
}

/** Whole numbers such as an index or a shape: "[0, 130]". */
export function indexText(value: unknown): string {
  const list = listOrNull(value);
  return list === null ? "" : `[${list.slice(0, 64).map((one) => (numberOf(one) === null ? "?" : String(one))).join(", ")}]`;
}
