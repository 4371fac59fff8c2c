// Every way a number, time or name is written. Nothing else rounds.

export const undefinedMark = '—';
const minus = '\u2212';
const thin = '\u202f';

const typographic = (text: string) => text.replace('-', minus);

// A number with so many decimals; NaN is the dash, infinities keep their sign.
export function fixed(value: number, decimals: number): string {
  if (Number.isNaN(value)) return undefinedMark;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : `${minus}∞`;
  const text = value.toFixed(decimals);
  return typographic(Number(text) === 0 ? text.replace('-', '') : text);
}

// With its sign always, for differences.
export function signed(value: number, decimals: number): string {
  const text = fixed(value, decimals);
  return value > 0 && /[1-9∞]/.test(text) ? `+${text}` : text;
}

// So many significant digits, without exponents in the everyday range.
export function significant(value: number, digits: number): string {
  if (!Number.isFinite(value)) return fixed(value, 0);
  if (value === 0) return '0';
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size > 8) return typographic(value.toExponential(Math.max(0, digits - 1)));
  return typographic(value.toFixed(Math.min(20, Math.max(0, digits - 1 - size))));
}

// Decimals that give every deviation of a column two significant digits, so that a column aligns: 0.36 -> 2,
// 1.4 -> 1.
export function decimalsFor(deviations: readonly number[], fallback = 2): number {
  const positive = deviations.filter((each) => Number.isFinite(each) && each > 0).sort((a, b) => a - b);
  const middle = positive[Math.floor((positive.length - 1) / 2)];
  if (middle === undefined) return fallback;
  return Math.min(5, Math.max(0, 1 - Math.floor(Math.log10(middle) + 1e-12)));
}

export interface MeanStd {
  mean: string;
  std: string;
}

// Both parts apart, for aligned columns. A single run has a mean and no deviation.
export function meanStd(mean: number, std: number, decimals: number = decimalsFor([std])): MeanStd {
  return { mean: fixed(mean, decimals), std: fixed(std, decimals) };
}

export function meanStdText(mean: number, std: number, decimals?: number): string {
  const parts = meanStd(mean, std, decimals);
  return Number.isNaN(std) ? parts.mean : `${parts.mean} ± ${parts.std}`;
}

// A result over seeds by itself, to five digits. What is the same in every one (a count of parameters) has no deviation
// to show, and a whole number no places.
export function resultText(mean: number, std: number): string {
  const spread = !Number.isNaN(std) && std !== 0;
  const value = !spread && Number.isInteger(mean) ? count(mean) : significant(mean, 5);
  return spread ? `${value} ± ${significant(std, 2)}` : value;
}

export function interval(low: number, high: number, decimals: number): string {
  if (Number.isNaN(low) || Number.isNaN(high)) return undefinedMark;
  return `[${fixed(low, decimals)}, ${fixed(high, decimals)}]`;
}

// Three significant digits; the exact lowest p of five pairs is 0.0625, not 0.06.
export function pValue(p: number): string {
  if (Number.isNaN(p)) return undefinedMark;
  if (p >= 1) return '1';
  if (p < 0.0001) return '<0.0001';
  return String(Number(p.toPrecision(3)));
}

export function count(value: number): string {
  return Math.abs(value) < 10_000
    ? typographic(String(value))
    : typographic(String(value).replace(/\B(?=(\d{3})+$)/g, thin));
}

// Parameters: exact to a thousand, then 81.4k, 5.72M. Negative means unknown.
export function parameters(value: number): string {
  if (value < 0 || Number.isNaN(value)) return undefinedMark;
  if (value < 1000) return String(value);
  for (const [size, letter] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (value >= size * 0.9995) return `${(value / size).toPrecision(3).replace(/\.0+$/, '')}${letter}`;
  }
  return String(value);
}

export function parametersAdded(value: number): string {
  return value > 0 ? `+${parameters(value)}` : value === 0 ? '0' : undefinedMark;
}

export function milliseconds(value: number): string {
  return value > 0 ? significant(value, 3) : undefinedMark;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value}${thin}B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let size = value / 1024;
  let unit = 0;
  for (; size >= 1024 && unit < units.length - 1; unit += 1) size /= 1024;
  return `${size.toPrecision(size < 10 ? 2 : 3)}${thin}${units[unit]}`;
}

// 8 s, 3 min 12 s, 1 h 05 min, 2 d 4 h. Negative is unknown.
export function duration(seconds: number): string {
  if (Number.isNaN(seconds) || seconds < 0) return undefinedMark;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, '0')} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function ago(then: number | null, now: number): string {
  if (then === null) return undefinedMark;
  const seconds = Math.max(0, (now - then) / 1000);
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  return days === 1 ? 'yesterday' : `${days} days ago`;
}

const moments = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

export const moment = (then: number | null) => (then === null ? undefinedMark : moments.format(then));
export const clockTime = (then: number) => clock.format(then);

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.floor((100 * part) / whole)}${thin}%` : undefinedMark;
}

// Canonical labels for people: {"resolution":42} -> resolution 42.
export function labelText(labels: string): string {
  try {
    const parts = Object.entries(JSON.parse(labels || '{}') as Record<string, unknown>);
    return parts
      .map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(', ');
  } catch {
    return labels;
  }
}

export function seriesText(series: { metric: string; split: string; labels: string }): string {
  return [series.metric, series.split, labelText(series.labels)].filter((part) => part !== '').join(' · ');
}

// A long name by its two ends: the options at the end are what tells neighboring cells apart.
export function shortened(name: string, most = 30): string {
  if (name.length <= most) return name;
  const head = Math.floor((most - 1) * 0.4);
  return `${name.slice(0, head).trimEnd()}…${name.slice(name.length - (most - 1 - head)).trimStart()}`;
}

// "learned-absolute + violin {sigma: 0.1, k: 2}, lr=0.003" at its joints.
const partsOf = (name: string) => name.split(/(?<=, )|(?<= )(?=[+{(·])|(?<=[^ ])(?=\()/);
const bare = (part: string) => part.replace(/[\s,]+$/, '');

// Names side by side, none longer than `most` where that can be: what the long ones have in common goes first, so that
// what tells them apart stays. Two different names never become one.
// A head goes only where all of them share it, those beside them (`all`) too.
export function shortenedApart(
  names: readonly string[],
  most: number,
  all: readonly string[] = names,
): string[] {
  const oneHead = new Set(all.map((name) => bare(partsOf(name)[0] ?? ''))).size === 1;
  const long = [...new Set(names.filter((name) => name.length > most))].map(partsOf);
  const known = new Map<string, number>(); // in how many of the long ones
  for (const parts of long)
    for (const part of new Set(parts.map(bare))) known.set(part, (known.get(part) ?? 0) + 1);
  const telling = (part: string) => long.length === 1 || known.get(bare(part))! < long.length;
  const joined = (parts: readonly string[]) =>
    parts
      .filter((part, place) => part !== '…' || parts[place - 1] !== '…')
      .join('')
      .replace(/\s*…\s*/g, '…');
  const short = names.map((name) => {
    if (name.length <= most) return name;
    const parts = partsOf(name).map((part, place) => (place === 0 || telling(part) ? part : '…'));
    // What is given up for room: the head, where something else is left, then what follows a dot, where a name lives.
    const within = parts.filter((part, place) => place > 0 && part !== '…' && !part.startsWith('·'));
    const headless = oneHead && within.length > 0 && !telling(parts[0]!);
    const placeless = parts.map((part) => (part.startsWith('·') ? '…' : part));
    const tries = [parts, placeless].flatMap((each) => [
      each,
      ...(headless ? [['…', ...each.slice(1)]] : []),
    ]);
    const texts = tries.map(joined);
    return texts.find((text) => text.length <= most) ?? shortened(texts[texts.length - 1]!, most);
  });
  const users = new Map<string, Set<string>>();
  short.forEach((each, i) => users.set(each, (users.get(each) ?? new Set()).add(names[i]!)));
  // What is still alike is told apart among itself, where it shares more than with all.
  const again = new Map<string, string>();
  for (const group of users.values()) {
    const same = [...group];
    const apart =
      same.length < 2 ? [] : same.length < new Set(names).size ? shortenedApart(same, most, all) : same;
    apart.forEach((each, i) => again.set(same[i]!, each));
  }
  return short.map((each, i) => again.get(names[i]!) ?? each);
}

// A failure's class and words, without saying the class twice.
export function failureText(failureClass: string, reason: string): string {
  const known = failureClass === 'none' ? '' : failureClass;
  if (known === '' || reason.startsWith(known)) return reason;
  return reason === '' ? known : `${known}: ${reason}`;
}

export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
