// The address bar as state: path and query, links without reload, query parameters as hooks.
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';

export interface Place {
  path: string;
  query: URLSearchParams;
}

const listeners = new Set<() => void>();
const here = (): Place => ({ path: location.pathname, query: new URLSearchParams(location.search) });

// Whoever uses the address need not be drawn again where it is the same.
const isHere = ({ path, query }: Place) =>
  path === location.pathname && query.toString() === new URLSearchParams(location.search).toString();

function announce(): void {
  listeners.forEach((listener) => listener());
}

export function navigate(href: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  announce();
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const update = () => setPlace((before) => (isHere(before) ? before : here()));
    update();
    listeners.add(update);
    return () => {
      listeners.delete(update);
    };
  }, []);
  return place;
}

// Follows back and forward and turns clicks on inner links into navigation. Returns the way to stop.
export function startRouter(): () => void {
  const click = (event: MouseEvent) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin)
      return;
    if (link.pathname.startsWith('/api/') || (link.hash !== '' && link.pathname === location.pathname))
      return;
    event.preventDefault();
    const moved = link.pathname !== location.pathname;
    navigate(link.pathname + link.search);
    if (moved) window.scrollTo(0, 0);
  };
  document.addEventListener('click', click);
  window.addEventListener('popstate', announce);
  return () => {
    document.removeEventListener('click', click);
    window.removeEventListener('popstate', announce);
  };
}

// How a value is written in the query; the fallback is left out of the address.
export interface QueryCodec<T> {
  read: (text: string | null) => T;
  write: (value: T) => string | null;
}

export const textQuery = (fallback: string): QueryCodec<string> => ({
  read: (text) => text ?? fallback,
  write: (value) => (value === fallback ? null : value),
});

export const flagQuery = (fallback: boolean): QueryCodec<boolean> => ({
  read: (text) => (text === null ? fallback : text === '1'),
  write: (value) => (value === fallback ? null : value ? '1' : '0'),
});

export const choiceQuery = <T extends string>(choices: readonly T[], fallback: T): QueryCodec<T> => ({
  read: (text) => choices.find((each) => each === text) ?? fallback,
  write: (value) => (value === fallback ? null : value),
});

export const numberSetQuery: QueryCodec<ReadonlySet<number>> = {
  read: (text) =>
    new Set(
      (text ?? '')
        .split(',')
        .filter((part) => /^\d+$/.test(part))
        .map(Number),
    ),
  write: (value) => (value.size === 0 ? null : [...value].sort((a, b) => a - b).join(',')),
};

// One query parameter as state. Choosing a view replaces the entry, so Back leaves the page and not the last
// click.
export function useQuery<T>(key: string, codec: QueryCodec<T>): [T, (value: T) => void] {
  const place = usePlace();
  const set = useCallback(
    (value: T) => {
      const query = new URLSearchParams(location.search);
      const text = codec.write(value);
      if (text === null) query.delete(key);
      else query.set(key, text);
      const tail = query.toString();
      navigate(location.pathname + (tail === '' ? '' : `?${tail}`), { replace: true });
    },
    [key, codec],
  );
  const text = place.query.get(key);
  const value = useMemo(() => codec.read(text), [codec, text]); // equal text, same object
  return [value, set];
}

export type Parameters = Readonly<Record<string, string>>;

// What every page is given.
export interface PageProps {
  params: Parameters;
}

// The parameters of `path` when it has the shape of `pattern` ("/experiments/:name"), else null.
export function match(pattern: string, path: string): Parameters | null {
  const wanted = pattern.split('/').filter(Boolean);
  const found = path.split('/').filter(Boolean);
  if (wanted.length !== found.length) return null;
  const parameters: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const value = found[i]!;
    if (!part.startsWith(':')) {
      if (part !== value) return null;
      continue;
    }
    try {
      parameters[part.slice(1)] = decodeURIComponent(value);
    } catch {
      return null;
    }
  }
  return parameters;
}
