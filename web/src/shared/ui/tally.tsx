// One of the values that occur, each with how often it does: a filter.
import { count } from '@/shared/format';

// How many there are of each value, in order of first sight.
export function tally<K>(items: readonly K[]): Map<K, number> {
  const counts = new Map<K, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

export function Tally({
  label,
  values,
  value,
  choose,
}: {
  label: string;
  values: readonly string[];
  value: string; // empty: all
  choose: (value: string) => void;
}) {
  const counts = tally(values);
  if (value !== '' && !counts.has(value)) counts.set(value, 0);
  return (
    <div class="choice" role="group" aria-label={label}>
      <button type="button" aria-pressed={value === ''} onClick={() => choose('')}>
        All <small>{count(values.length)}</small>
      </button>
      {[...counts].map(([each, n]) => (
        <button key={each} type="button" aria-pressed={value === each} onClick={() => choose(each)}>
          {each} <small>{count(n)}</small>
        </button>
      ))}
    </div>
  );
}
