// The statistics the mock API needs to answer like the real one. For development only; the product computes
// tables on the server.

export const mean = (x) => x.reduce((a, b) => a + b, 0) / x.length;
export const std = (x) =>
  x.length < 2 ? NaN : Math.sqrt(x.reduce((a, b) => a + (b - mean(x)) ** 2, 0) / (x.length - 1));

// Two-sided 95 % Student-t quantiles for 1 to 9 degrees of freedom.
const t95 = [NaN, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
export const halfWidth = (x) =>
  x.length < 2 ? NaN : (t95[Math.min(9, x.length - 1)] * std(x)) / Math.sqrt(x.length);

export function signFlip(differences) {
  const n = differences.length;
  if (n === 0) return NaN;
  const seen = Math.abs(mean(differences)) - 1e-12;
  let extreme = 0;
  for (let mask = 0; mask < 2 ** n; mask += 1) {
    const flipped = differences.map((d, i) => (mask & (1 << i) ? -d : d));
    if (Math.abs(mean(flipped)) >= seen) extreme += 1;
  }
  return extreme / 2 ** n;
}

export function holm(p) {
  const order = p
    .map((value, i) => [value, i])
    .filter(([value]) => !Number.isNaN(value))
    .sort((a, b) => a[0] - b[0]);
  const adjusted = p.map(() => NaN);
  let most = 0;
  order.forEach(([value, i], rank) => {
    most = Math.max(most, Math.min(1, value * (order.length - rank)));
    adjusted[i] = most;
  });
  return adjusted;
}

// A repeatable normal deviate for a key.
export function noise(...key) {
  let h = 2166136261;
  for (const c of key.join('/')) h = Math.imul(h ^ c.charCodeAt(0), 16777619) >>> 0;
  const next = () => {
    h = (Math.imul(h ^ (h >>> 15), 2246822507) + 0x9e3779b9) >>> 0;
    h ^= h >>> 13;
    return (h >>> 0) / 4294967296;
  };
  next();
  return Math.sqrt(-2 * Math.log(next() + 1e-12)) * Math.cos(2 * Math.PI * next());
}
