// Scales, ticks and extents of every plot, linear or logarithmic.

export type Scale = (value: number) => number;

// A scale from values to pixels. Without any spread the value lands in the middle.
export function linearScale(low: number, high: number, from: number, to: number): Scale {
  const span = high - low;
  return (value) => (span > 0 ? from + ((value - low) / span) * (to - from) : (from + to) / 2);
}

// Values at or below zero have no place: NaN.
export function logScale(low: number, high: number, from: number, to: number): Scale {
  const inner = linearScale(Math.log10(low), Math.log10(high), from, to);
  return (value) => (value > 0 ? inner(Math.log10(value)) : NaN);
}

export const scaleOf = (log: boolean) => (log ? logScale : linearScale);

// Lowest and highest of the usable values: finite, and above zero on a logarithmic axis.
export function extent(values: Iterable<number>, log = false): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

// The extent with some room on both sides, so that nothing lies on the frame.
export function padded([low, high]: readonly [number, number], share: number, log = false): [number, number] {
  if (log) {
    const factor = high > low ? (high / low) ** share : 1.5;
    return [low / factor, high * factor];
  }
  const room = share * (high - low || Math.abs(low) || 1);
  return [low - room, high + room];
}

// Round ticks inside [low, high], about `wanted` of them.
export function ticks(low: number, high: number, wanted: number): number[] {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999)!;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}

// Powers of ten, with 2 and 5 between them when there are few; linear ticks within less than a factor of four.
export function logTicks(low: number, high: number, wanted: number): number[] {
  if (high / low < 4) return ticks(low, high, wanted).filter((tick) => tick > 0);
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const factors = last - first <= 3 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((last - first) / Math.max(1, wanted)));
  const out: number[] = [];
  for (let power = first; power <= last; power += every)
    for (const factor of factors) out.push(Number((factor * 10 ** power).toPrecision(6)));
  return out.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
}

export const ticksOf = (log: boolean) => (log ? logTicks : ticks);
