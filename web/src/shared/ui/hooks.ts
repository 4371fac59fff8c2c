// Small hooks: the clock, the width of an element, whether it was seen.
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

// The time, renewed so that "3 min ago" stays true.
export function useNow(everyMs = 15_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function useWidth(element: RefObject<HTMLElement>, initial: number): number {
  const [width, setWidth] = useState(initial);
  // Before the first paint already: a phone would show `initial`, wider than its page, for a moment.
  useLayoutEffect(() => {
    const node = element.current;
    if (!node) return;
    if (node.clientWidth > 0) setWidth(node.clientWidth);
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  return width;
}

// Turns true when the element first comes near the window.
export function useSeen(element: RefObject<HTMLElement>): boolean {
  const [seen, setSeen] = useState(typeof IntersectionObserver === 'undefined');
  useEffect(() => {
    const node = element.current;
    if (seen || !node) return;
    let frame = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // What is in sight is painted first.
    const show = () => (frame ||= requestAnimationFrame(() => (timer = setTimeout(() => setSeen(true)))));
    const observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && show(),
      {
        rootMargin: '200px',
      },
    );
    observer.observe(node);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [seen]);
  return seen;
}
