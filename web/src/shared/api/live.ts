// Hooks: live data in a component, and the state of the connection.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Change, type Connection, EventStream } from './event-stream';
import { Resource, type ResourceState } from './resource';

export const stream = new EventStream();
const hiddenGraceMs = 30_000;

// Starts the page's stream and lets go of it while the tab is hidden. Returns the way to stop.
export function startStream(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const follow = () => {
    clearTimeout(timer);
    if (document.visibilityState === 'hidden') timer = setTimeout(() => stream.stop(), hiddenGraceMs);
    else stream.start();
  };
  const retry = () => stream.reconnect();
  document.addEventListener('visibilitychange', follow);
  window.addEventListener('online', retry);
  stream.start();
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', follow);
    window.removeEventListener('online', retry);
    stream.stop();
  };
}

export function useConnection(): Connection {
  const [state, setState] = useState(stream.state);
  useEffect(() => {
    setState(stream.state);
    return stream.onState(setState);
  }, []);
  return state;
}

let waiting: Set<Resource<unknown>> | null = null; // while something is removed

// Reads again what changes only after `remove` is over and its caller has gone on: a page that removes what it shows
// would ask for it once more.
export async function removing<T>(remove: () => Promise<T>): Promise<T> {
  const late = new Set<Resource<unknown>>();
  waiting = late;
  try {
    return await remove();
  } finally {
    waiting = null;
    setTimeout(() => late.forEach((resource) => resource.touch()));
  }
}

export interface Live<T> extends ResourceState<T> {
  refresh: () => void;
}

// Reads `load` for `key` and again whenever `concerns` says so. A new key keeps showing the old data until
// the new is there,
// as long as `family` is the same.
export function useLive<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  concerns: (change: Change) => boolean,
  family: string = key,
): Live<T> {
  const [, redraw] = useState(0);
  const last = useRef<{ family: string; data: T | undefined }>({ family, data: undefined });
  const resource = useMemo(() => {
    const initial = last.current.family === family ? last.current.data : undefined;
    return new Resource<T>(load, 1000, initial);
  }, [key]);
  const wanted = useRef(concerns);
  wanted.current = concerns;

  // Not after the paint, as an effect would be: the answer takes longer than anything drawn meanwhile.
  useLayoutEffect(() => {
    const stopListening = resource.subscribe(() => redraw((count) => count + 1));
    const stopFollowing = stream.onChange((change) => {
      if (!change.all && !wanted.current(change)) return;
      if (waiting) waiting.add(resource as Resource<unknown>);
      else resource.touch();
    });
    void resource.read();
    return () => {
      stopListening();
      stopFollowing();
      resource.close();
    };
  }, [resource]);

  last.current = { family, data: resource.state.data };
  return { ...resource.state, refresh: () => void resource.read() };
}

// Data that arrives in parts: the first, which `load` passes to its callback, is shown until everything is there. Where
// something is shown already, as when it is read again, `load` is called without a callback.
export function useLiveParts<T>(
  key: string,
  load: (signal: AbortSignal, begun?: (first: T) => void) => Promise<T>,
  concerns: (change: Change) => boolean,
  family: string = key,
): Live<T> {
  const [begun, setBegun] = useState<{ key: string; first: T } | null>(null);
  const tell = (first: T) => setBegun((before) => (before?.key === key ? before : { key, first }));
  const shown = useRef(false);
  const live = useLive(key, (signal) => load(signal, shown.current ? undefined : tell), concerns, family);
  shown.current = live.data !== undefined;
  return live.data || begun?.key !== key ? live : { ...live, data: begun.first };
}

// True for a change that concerns the experiment, of one of the kinds (any when none are given).
export function concerning(experiment: string, ...kinds: readonly string[]): (change: Change) => boolean {
  return (change) =>
    change.all ||
    (change.experiments.includes(experiment) && (kinds.length === 0 || kinds.includes(change.event.kind)));
}
