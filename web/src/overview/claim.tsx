// The line to paste below a figure, shown when it is opened.
import type { JSX } from "preact";
import { CopyButton } from "../copy";
import { type ClaimFigure, claim, storedClaim } from "../claims";
import type { Report } from "../report";
import { isFiltered } from "../state";
import { type Estimate, PENDING } from "../statistics";
import { Text } from "../text";

export function ClaimLine(props: { of: Report; figure: ClaimFigure; estimate: Estimate; rows: readonly number[]; bounds?: string | null; source?: number | null }): JSX.Element | null {
  if (props.estimate.why === PENDING) return null;
  const source = props.source ?? null;
  const stored = isFiltered.value ? null : storedClaim(props.of, props.figure, source);
  const text = stored ?? claim(props.of, props.figure, props.estimate, props.rows, props.bounds ?? null, source);
  return (
    <div class="claim">
      <details>
        <summary>Claim to paste</summary>
        <p class="claim-text">
          <Text value={text} />
        </p>
      </details>
      <CopyButton text={() => text} label="Copy claim" />
    </div>
  );
}
