// A list of which only the visible part is drawn, by @tanstack/virtual-core.
import { Virtualizer, type VirtualItem, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import { type RefObject } from "preact";
import { useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";

export interface VirtualList {
  items: VirtualItem[];
  height: number;
  show: (index: number) => void;
}

/** `sizes(index)` in pixels; a header of `head` pixels is above the list, and stays. */
export function useVirtual(box: RefObject<HTMLElement | null>, count: number, sizes: (index: number) => number, head = 0): VirtualList {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const last = useRef("");
  const options = {
    count,
    getScrollElement: () => box.current,
    estimateSize: sizes,
    overscan: 12,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    scrollMargin: head,
    scrollPaddingStart: head,
    onChange: () => {
      // Scrolling within the drawn rows needs no drawing.
      const items = list.getVirtualItems();
      const state = `${items[0]?.index} ${items.at(-1)?.index} ${list.getTotalSize()}`;
      if (state !== last.current) {
        last.current = state;
        draw(undefined as never);
      }
    },
  };
  const list = useMemo(() => new Virtualizer<HTMLElement, HTMLElement>(options), []);
  const sizesBefore = useRef(sizes);
  list.setOptions({ ...list.options, ...options });
  if (sizesBefore.current !== sizes) {
    sizesBefore.current = sizes;
    list.measure();
  }
  useLayoutEffect(() => list._didMount(), []);
  useLayoutEffect(() => list._willUpdate());
  const items = list.getVirtualItems();
  last.current = `${items[0]?.index} ${items.at(-1)?.index} ${list.getTotalSize()}`;
  return { items: items.map((item) => ({ ...item, start: item.start - head })), height: list.getTotalSize(), show: (index) => list.scrollToIndex(index, { align: "auto" }) };
}
