// A place for a table that may be wider than the page: it scrolls by itself, also with the keyboard.
import type { ComponentChildren, JSX } from "preact";

export function Wide({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={`${label}: table`}>
      {children}
    </div>
  );
}
