// The Pareto front: what nothing else beats in both directions at once.

export interface Directions {
  x: 'min' | 'max';
  y: 'min' | 'max';
}

export interface Place {
  x: number;
  y: number;
}

// Indexes of the points on the front, by falling quality of y and so by falling cost. A point is on it when no other
// is at least as good in both and better in one; equal points are on it together. Points without a place are not.
export function paretoFront(points: readonly Place[], directions: Directions): number[] {
  const better = (a: number, b: number, direction: 'min' | 'max') => (direction === 'min' ? a < b : a > b);
  const order = points
    .map((_, i) => i)
    .filter((i) => Number.isFinite(points[i]!.x) && Number.isFinite(points[i]!.y))
    .sort((a, b) => {
      const [p, q] = [points[a]!, points[b]!];
      if (p.x !== q.x) return better(p.x, q.x, directions.x) ? -1 : 1;
      return p.y === q.y ? a - b : better(p.y, q.y, directions.y) ? -1 : 1;
    });
  const out: number[] = [];
  let best: Place | null = null;
  for (const i of order) {
    const point: Place = points[i]!;
    const equal: boolean = best !== null && best.x === point.x && best.y === point.y;
    if (best !== null && !equal && !better(point.y, best.y, directions.y)) continue;
    out.push(i);
    best = point;
  }
  return out;
}

// The corners of the line that bounds what the front beats, from point to point at right angles.
export function frontCorners(points: readonly Place[], front: readonly number[]): Place[] {
  return front.flatMap((i, at) => {
    const point = points[i]!;
    const before = at > 0 ? points[front[at - 1]!]! : null;
    return before ? [{ x: point.x, y: before.y }, point] : [point];
  });
}
