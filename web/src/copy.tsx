// Copies text. The Clipboard API is missing in some pages that were opened as a file, so there is a selection beside it.
import { useState } from "preact/hooks";

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden-visually";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function CopyButton({ text, label }: { text: () => string; label: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    setSaid((await copyText(text())) ? "Copied" : "Not allowed");
    setTimeout(() => setSaid(""), 1500);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}
