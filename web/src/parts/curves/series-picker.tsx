// Which series is shown: metric, split and labels, in a menu and in the address.
import type { QueryCodec } from '@/shared/router';
import type { SeriesKey } from '@/shared/api/messages';
import { seriesText } from '@/shared/format';

// "top1/validation" or "top1/test/{...}" in the address.
export const seriesQuery: QueryCodec<SeriesKey | null> = {
  read: (text) => {
    const [metric, split = '', ...labels] = (text ?? '').split('/');
    return metric ? { metric, split, labels: labels.join('/') || '{}' } : null;
  },
  write: (key) =>
    key &&
    [key.metric, key.split, ...(key.labels === '{}' || key.labels === '' ? [] : [key.labels])].join('/'),
};

const sameSeries = (a: SeriesKey, b: SeriesKey) => seriesQuery.write(a) === seriesQuery.write(b);

export function SeriesPicker({
  value,
  available,
  choose,
}: {
  value: SeriesKey;
  available: readonly SeriesKey[];
  choose: (key: SeriesKey) => void;
}) {
  const options = available.some((key) => sameSeries(key, value)) ? available : [value, ...available];
  return (
    <select
      class="select"
      aria-label="Metric and split"
      value={seriesQuery.write(value) ?? ''}
      onChange={(event) => choose(options[event.currentTarget.selectedIndex]!)}
    >
      {options.map((key) => (
        <option key={seriesQuery.write(key)} value={seriesQuery.write(key)!}>
          {seriesText(key)}
        </option>
      ))}
    </select>
  );
}
