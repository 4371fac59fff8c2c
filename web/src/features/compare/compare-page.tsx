// Two or more trials or cells side by side: what differs between them, what came out, how they learned.
import { useQuery } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import { SeriesPicker, seriesQuery } from '@/parts/curves/series-picker';
import type { Comparison } from '@/shared/api/messages';
import { shortenedApart } from '@/shared/format';
import type { Look } from '@/shared/palette';
import { Icon } from '@/shared/ui/icon';
import { Swatch } from '@/shared/ui/parts';
import { Empty, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import './compare.css';
import { CompareCurves } from './compare-curves';
import { ComparePictures } from './compare-pictures';
import { AllResults, ComparePaired } from './compare-results';
import { CompareSettings } from './compare-settings';
import { itemLooks, itemNames, itemsQuery, useComparison } from './data';

function Items({
  items,
  names,
  looks,
  set,
}: {
  items: readonly string[];
  names: readonly string[];
  looks: readonly (Look | null)[];
  set: (items: readonly string[]) => void;
}) {
  const short = shortenedApart(names, 32);
  const first = (item: string) => [item, ...items.filter((each) => each !== item)];
  return (
    <ol class="compared-items" aria-label="Items compared">
      {items.map((item, i) => (
        <li key={item}>
          <Swatch look={looks[i] ?? null} />
          <span class="quiet">{i + 1}</span>
          <span class="cell-label" title={`${names[i] ?? ''} ${item}`.trim()}>
            {short[i] ?? item}
          </span>
          {i > 0 && (
            <button
              type="button"
              class="icon-button"
              aria-label={`Compare with ${names[i] ?? item} first`}
              title="Make it the reference"
              onClick={() => set(first(item))}
            >
              <Icon name="up" size={13} />
            </button>
          )}
          <button
            type="button"
            class="icon-button"
            aria-label={`Leave out ${names[i] ?? item}`}
            title="Leave out"
            onClick={() => set(items.filter((each) => each !== item))}
          >
            <Icon name="close" size={13} />
          </button>
        </li>
      ))}
    </ol>
  );
}

function Body({ comparison }: { comparison: Comparison }) {
  const compared = { comparison, names: itemNames(comparison.items), looks: itemLooks(comparison.items) };
  return (
    <>
      <ComparePaired {...compared} />
      <CompareCurves {...compared} />
      <ComparePictures {...compared} />
      <CompareSettings {...compared} />
      <AllResults {...compared} />
    </>
  );
}

function Compared({ items, set }: { items: readonly string[]; set: (items: readonly string[]) => void }) {
  const [by, setBy] = useQuery('by', seriesQuery);
  const { data, error, readAt, refresh } = useComparison(items, by);
  const current = data && { metric: data.metric, split: data.split, labels: data.labels };
  const known = data && data.items.length === items.length ? data.items : [];
  return (
    <>
      <div class="toolbar">
        <Items items={items} names={itemNames(known)} looks={itemLooks(known)} set={set} />
        {current && (
          <span class="toolbar-end">
            <SeriesPicker
              value={current}
              available={data.results.map((result) => result.key)}
              choose={setBy}
            />
          </span>
        )}
      </div>
      {!data && error && <ReadFailure what="The comparison" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={8} height={30} />}
      {data && <Stale error={error} readAt={readAt} page />}
      {data && <Body comparison={data} />}
    </>
  );
}

export default function ComparePage() {
  const [items, set] = useQuery('of', itemsQuery);
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Where you are">
        <a href={hrefs.experiments()}>Experiments</a>
        <span aria-hidden="true">/</span>
      </nav>
      <div class="title-row">
        <h1>Compare</h1>
      </div>
      {items.length >= 2 ? (
        <Compared items={items} set={set} />
      ) : (
        <Empty
          title="Nothing to compare yet"
          text="Pick two or more cells in an experiment’s leaderboard, or two or more of its trials."
        >
          <a class="button" href={hrefs.experiments()}>
            To the experiments
          </a>
        </Empty>
      )}
    </div>
  );
}
