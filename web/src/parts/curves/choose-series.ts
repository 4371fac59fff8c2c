// The series that a page shows unless another was asked for.
import type { SeriesKey } from '@/shared/api/messages';

export interface MetricContract {
  metric: string;
  reports: string;
  selectsOn: string;
}

// The metric contract as the specification states it.
export function contractOf(specJson: string, primaryMetric: string): MetricContract {
  let stated: Record<string, unknown> = {};
  try {
    const spec = JSON.parse(specJson || '{}') as { metric?: unknown };
    if (typeof spec.metric === 'object' && spec.metric !== null)
      stated = spec.metric as Record<string, unknown>;
  } catch {
    // Defaults serve.
  }
  const word = (key: string, fallback: string) =>
    typeof stated[key] === 'string' ? (stated[key] as string) : fallback;
  return {
    metric: primaryMetric || word('name', 'top1'),
    reports: word('reports', 'test'),
    selectsOn: word('selects_on', 'validation'),
  };
}

// While it trains, a model is validated on the first so many images of the split: {"images":1000}. The plain
// series of the same
// metric is the one validation at the end, over all of them: a point, not a curve.
const whileTraining = (key: SeriesKey) => /^\{"images":\d+\}$/.test(key.labels);
const isPlain = (key: SeriesKey) => key.labels === '{}' || key.labels === '';

// The series to show: the one asked for if any; else the contract's metric where it selects, or the nearest
// that exists.
export function chooseSeries(
  asked: SeriesKey | null,
  contract: MetricContract,
  available: readonly SeriesKey[],
): SeriesKey {
  if (asked) return asked;
  const wanted = { metric: contract.metric, split: contract.selectsOn, labels: '{}' };
  const same = available.filter((key) => key.metric === wanted.metric && key.split === wanted.split);
  const plain = available.filter(isPlain);
  return (
    same.find(whileTraining) ??
    same.find(isPlain) ??
    plain.find((key) => key.metric === wanted.metric) ??
    plain.find((key) => key.metric === 'loss') ??
    available[0] ??
    wanted
  );
}
