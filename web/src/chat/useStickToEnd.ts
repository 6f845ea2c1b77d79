/** Stay at the end while one is there; leave alone who reads further up. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

/** So near to the end, in pixels, one is there. */
const NEAR = 60;

interface Extent {
  scrollTop: number;
  scrollHeight: number;
  clientHeight: number;
}

const extentOf = ({ scrollTop, scrollHeight, clientHeight }: Extent): Extent => ({
  scrollTop,
  scrollHeight,
  clientHeight,
});

/** What is below the visible part, in pixels. */
const leftBelow = ({ scrollTop, scrollHeight, clientHeight }: Extent) =>
  scrollHeight - scrollTop - clientHeight;

/**
 * Whether somebody scrolled up from `before` to `now`.
 *
 * What grows leaves the place as it is; what shrinks, or a taller window, moves it by that much.
 */
export function scrolledUp(before: Extent, now: Extent): boolean {
  const shrunk = Math.max(0, before.scrollHeight - now.scrollHeight);
  const taller = Math.max(0, now.clientHeight - before.clientHeight);
  return before.scrollTop - now.scrollTop > shrunk + taller + 1;
}

const resized = (before: Extent, now: Extent) =>
  before.scrollHeight !== now.scrollHeight || before.clientHeight !== now.clientHeight;

export const isStuckToEnd = (scroller: HTMLElement) => scroller.style.overflowAnchor === "none";

export function useStickToEnd() {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const [away, setAway] = useState(false);

  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  }, []);

  useEffect(() => {
    const element = box.current;
    const content = inner.current;
    if (element === null || content === null) return;
    let last = extentOf(element);
    const look = () => {
      if (leftBelow(element) < NEAR) stuck.current = true;
      else if (scrolledUp(last, element)) stuck.current = false;
      if (stuck.current && resized(last, element)) element.scrollTop = element.scrollHeight;
      last = extentOf(element);
      // At the end, only somebody who scrolls may move the place up.
      element.style.overflowAnchor = stuck.current ? "none" : "";
      setAway(!stuck.current && leftBelow(element) > NEAR * 4);
    };
    const grown = new ResizeObserver(look);
    grown.observe(content);
    grown.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      grown.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);

  const toEnd = useMemo(
    () => () => {
      const element = box.current;
      stuck.current = true;
      if (element !== null) element.scrollTop = element.scrollHeight;
    },
    [],
  );
  function leaveEnd() {
    stuck.current = false;
    if (box.current !== null) box.current.style.overflowAnchor = "";
  }
  return { box, inner, away, toEnd, leaveEnd };
}
