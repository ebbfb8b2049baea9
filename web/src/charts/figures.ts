// Figures of charts as text, beside those of numbers.ts: shares, nouns with their number, ticks; and checks of
// what a report gives as a number.
import { numberOf } from "../fields";
import { count, duration, percent, significant } from "../numbers";


/** The elements that are finite numbers. */
export function numbersOf(value: unknown): number[] {
  return Array.isArray(value) ? value.filter((one): one is number => numberOf(one) !== null) : [];
}

/** A share with one decimal: 41.2%. */
export function shareText(value: number): string {
  return percent(value, 1);
}

/** Three digits without zeros at the end: for ticks. */
export function short(value: number): string {
  const text = significant(value);
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

/** A duration at a tick: "45 µs" and "40 min", not "45.0 µs" and "40 min 0 s". */
export function durationTick(milliseconds: number): string {
  if (milliseconds === 0) return "0";
  return duration(milliseconds).replace(/\.0+ /, " ").replace(/(\.\d*[1-9])0+ /, "$1 ").replace(/ 0 (s|min)$/, "");
}

/** "1 task", "2,000 tasks". */
export function counted(number: number, one: string, several = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : several}`;
}

export function between(of: { low: number; high: number } | null, write: (value: number) => string): string {
  return of ? `${write(of.low)} to ${write(of.high)}` : "";
}
