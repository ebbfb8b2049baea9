// Keys of the pages, and the list of them that `?` opens.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface Key {
  /** As KeyboardEvent.key names it. */
  key: string;
  label: string;
  run: (event: KeyboardEvent) => void;
  /** Another key for the same. */
  also?: string;
  /** True: also while the focus is in a text field. */
  inFields?: boolean;
}

const active = signal<readonly Key[][]>([]);
export const helpOpen = signal(false);

const inField = (event: KeyboardEvent) => {
  const target = event.target as HTMLElement | null;
  return target instanceof HTMLInputElement ? target.type !== "checkbox" && target.type !== "radio" : target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
};

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (helpOpen.value) return;
  for (const keys of [...active.value].reverse()) {
    for (const key of keys) {
      if (event.key !== key.key && event.key !== key.also) continue;
      if (inField(event) && !key.inFields) continue;
      // Enter and Space belong to the button or link that has the focus.
      if ((event.key === "Enter" || event.key === " ") && (event.target as HTMLElement).closest("a, button, summary, label")) continue;
      event.preventDefault();
      key.run(event);
      return;
    }
  }
}
if (typeof window !== "undefined") window.addEventListener("keydown", onKey);

/** Binds keys while a component is on the page. The last component wins. */
export function useKeys(keys: Key[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  // Before the next frame: a key that follows a page change at once is heard.
  useLayoutEffect(() => {
    const stable = keys.map((key, i): Key => ({ ...key, run: (event) => latest.current[i]?.run(event) }));
    active.value = [...active.value, stable];
    return () => {
      active.value = active.value.filter((one) => one !== stable);
    };
  }, [keys.map((key) => key.key).join("\n")]);
}

const NAMES: Record<string, string> = { ArrowDown: "\u2193", ArrowUp: "\u2191", ArrowLeft: "\u2190", ArrowRight: "\u2192", Escape: "Esc", " ": "Space" };
const nameOf = (key: string) => NAMES[key] ?? key;

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useKeys([{ key: "?", label: "Show or close this list", run: () => (helpOpen.value = true) }]);
  const open = helpOpen.value;
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    else if (!open && dialog.current?.open) dialog.current.close();
  }, [open]);
  const keys = active.value.flat();
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-label="Keys"
      onClose={() => (helpOpen.value = false)}
      onKeyDown={(event) => event.key === "?" && (helpOpen.value = false)}
      onClick={(event) => event.target === dialog.current && (helpOpen.value = false)}
    >
      <h2>Keys</h2>
      <dl>
        {keys.map((key) => (
          <div key={key.key}>
            <dt>
              <kbd>{nameOf(key.key)}</kbd>
              {key.also ? <kbd>{nameOf(key.also)}</kbd> : null}
            </dt>
            <dd>{key.label}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => (helpOpen.value = false)}>
        Close
      </button>
    </dialog>
  );
}
