// The only way by which text of a report gets on the page: as text nodes, with invisible characters made visible.
// Nothing here or elsewhere writes HTML; nothing makes a link out of text.
import { type VNode, options } from "preact";
import { useState } from "preact/hooks";

// Control characters but tab and line feed; soft hyphen, Arabic letter mark, joiners, direction marks and overrides, fillers,
// line and paragraph separators, invisible operators, variation selectors outside of emoji, tags, the byte order mark, private use; halves of pairs.
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|(?<!\p{Extended_Pictographic})[\ufe00-\ufe0f]|\p{Surrogate}|\p{Private_Use}/gu;

const NAMES: Record<number, string> = {
  0x00ad: "soft hyphen",
  0x061c: "Arabic letter mark",
  0x200b: "zero width space",
  0x200c: "zero width non-joiner",
  0x200d: "zero width joiner",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x2028: "line separator",
  0x2029: "paragraph separator",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "end of direction",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "end of isolate",
  0xfeff: "byte order mark",
};

const nameOf = (character: string) => `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** A text for attributes, titles and the clipboard's labels: invisible characters become names such as <U+202E>. */
export function plain(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(INVISIBLE, (character) => `<${nameOf(character)}>`);
}

/** Attributes that people read or hear. Text in them passes here whichever page wrote it. */
const READ_ATTRIBUTES = ["title", "aria-label", "placeholder", "alt"];
const before = options.vnode;
options.vnode = (node) => {
  if (typeof node.type === "string") {
    const props = node.props as Record<string, unknown>;
    for (const name of READ_ATTRIBUTES) {
      const value = props[name];
      if (typeof value === "string" && value.search(INVISIBLE) >= 0) props[name] = plain(value);
    }
  }
  before?.(node);
};

/** The pieces of a text for the page: strings, and a mark for each invisible character. */
export function visible(text: string): (string | VNode)[] {
  const pieces: (string | VNode)[] = [];
  let at = 0;
  const normal = text.includes("\r\n") ? text.replace(/\r\n/g, "\n") : text;
  for (const match of normal.matchAll(INVISIBLE)) {
    if (match.index > at) pieces.push(normal.slice(at, match.index));
    const code = match[0].codePointAt(0)!;
    pieces.push(
      <span class="invisible" title={NAMES[code] ?? "invisible character"}>
        {nameOf(match[0])}
      </span>,
    );
    at = match.index + match[0].length;
  }
  if (at < normal.length) pieces.push(normal.slice(at));
  return pieces;
}

const asText = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);

/** A short text on one line: a name, a path, a message. Longer than `limit`, it is cut and marked. */
export function Text({ value, limit = 2000 }: { value: unknown; limit?: number }) {
  const text = asText(value);
  const cut = text.length > limit;
  return (
    <bdi class="text">
      {visible(cut ? text.slice(0, limit) : text)}
      {cut ? <span class="cut"> … {(text.length - limit).toLocaleString("en")} more characters</span> : null}
    </bdi>
  );
}

const STEP = 20_000;

/** A long text with its line breaks: a prompt, reasoning, a compiler's message. Long texts unfold in steps. */
export function Prose({ value, step = STEP }: { value: unknown; step?: number }) {
  const text = asText(value);
  const [shown, setShown] = useState(step);
  const rest = text.length - shown;
  return (
    <div class="prose">
      <bdi class="text">{visible(rest > 0 ? text.slice(0, shown) : text)}</bdi>
      {rest > 0 ? (
        <button type="button" class="quiet" onClick={() => setShown(shown + 10 * step)}>
          Show {Math.min(rest, 10 * step).toLocaleString("en")} of {rest.toLocaleString("en")} more characters
        </button>
      ) : null}
    </div>
  );
}
