// Calculations that take longer than a frame: they run in slices, and a page draws what is known meanwhile.
import { useEffect, useState } from "preact/hooks";
import { inSlices, type Steps } from "./statistics";

/** The result of a calculation; null until there is one. The last result stays while a new one is calculated. */
export function useSteps<Result>(make: () => Steps<Result>, inputs: readonly unknown[]): { result: Result | null; current: boolean } {
  const [held, setHeld] = useState<{ result: Result; inputs: readonly unknown[] } | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    void inSlices(make(), stop.signal).then((result) => {
      if (result !== null && !stop.signal.aborted) setHeld({ result, inputs });
    });
    return () => stop.abort();
  }, inputs);
  const current = held !== null && held.inputs.length === inputs.length && held.inputs.every((input, i) => input === inputs[i]);
  return { result: held?.result ?? null, current };
}
