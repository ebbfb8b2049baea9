// The forward and the backward pass of a verdict on gradients, in words.
import { type Fields, fieldsOf, fieldsOrNull, numberOf, textOf } from "./fields";
import { duration, times } from "./numbers";

export interface Pass {
  name: string;
  says: string;
}

/** "1.68× (213 µs to 127 µs)"; null where a time is missing. */
function inWords(segment: Fields | null): string | null {
  const [reference, kernel] = [numberOf(segment?.["reference_time_ms"]), numberOf(segment?.["kernel_time_ms"])];
  if (reference === null || kernel === null) return null;
  const both = `${duration(reference)} to ${duration(kernel)}`;
  const speedup = numberOf(segment?.["speedup"]);
  return speedup === null ? both : `${times(speedup)} (${both})`;
}

/** The times of both passes. Where they were not timed one by one: the verdict's reason, or nothing without one. */
export function passesOf(verdict: Fields): Pass[] {
  const timing = fieldsOf(verdict["timing"]);
  const segments = fieldsOrNull(timing["segments"]);
  const passes = (["forward", "backward"] as const).flatMap((name) => {
    const says = inWords(fieldsOrNull(segments?.[name]));
    return says === null ? [] : [{ name: name === "forward" ? "Forward pass" : "Backward pass", says }];
  });
  if (passes.length > 0) return passes;
  const why = textOf(timing["segments_why_null"]);
  return why === null ? [] : [{ name: "Forward and backward pass", says: `not timed one by one: ${why.slice(0, 300)}` }];
}
