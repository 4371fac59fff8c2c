// One experiment: what it is and how far, then its results, its trials or its specification.
import { type PageProps, type Parameters, type QueryCodec, useQuery } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import './experiment.css';
import { useExperiment } from '@/parts/experiments';
import { ExperimentHeader } from './experiment-header';
import { Figures } from './figures/figures';
import { Overview } from './overview';
import { pivotTableAhead } from '@/parts/pivot/data';
import { PivotCard } from '@/parts/pivot/pivot-card';
import { Specification } from './specification';
import { TrialsPanel } from './trials/trials-panel';

const tabs = ['results', 'paper', 'figures', 'trials', 'specification'] as const;
type Tab = (typeof tabs)[number];
const tabNames: Record<Tab, string> = {
  results: 'Results',
  paper: 'Pivot table',
  figures: 'Figures',
  trials: 'Trials',
  specification: 'Specification',
};

const tabQuery: QueryCodec<Tab> = {
  read: (text) => tabs.find((tab) => tab === text) ?? 'results',
  write: (tab) => (tab === 'results' ? null : tab),
};

function Tabs({
  tab,
  choose,
  counts,
}: {
  tab: Tab;
  choose: (tab: Tab) => void;
  counts: Partial<Record<Tab, number>>;
}) {
  const move = (event: KeyboardEvent) => {
    const direction = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (direction === 0) return;
    const next = tabs[(tabs.indexOf(tab) + direction + tabs.length) % tabs.length]!;
    choose(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views of the experiment" onKeyDown={move}>
      {tabs.map((each) => (
        <button
          key={each}
          id={`tab-${each}`}
          type="button"
          role="tab"
          aria-selected={each === tab}
          aria-controls="tab-panel"
          tabIndex={each === tab ? 0 : -1}
          onClick={() => choose(each)}
        >
          {tabNames[each]}
          {counts[each] !== undefined && <span class="tab-count">{counts[each]}</span>}
        </button>
      ))}
    </div>
  );
}

export function ahead(params: Parameters): void {
  const query = new URLSearchParams(location.search);
  if (tabQuery.read(query.get('tab')) === 'paper') pivotTableAhead([params['name']!], query);
}

export default function ExperimentPage({ params }: PageProps) {
  const name = params['name']!;
  const { data, error, readAt, refresh } = useExperiment(name);
  const [tab, setTab] = useQuery('tab', tabQuery);
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Where you are">
        <a href={hrefs.experiments()}>Experiments</a>
        <span aria-hidden="true">/</span>
      </nav>
      {!data && error && <ReadFailure what={`The experiment ${name}`} error={error} retry={refresh} />}
      {!data && !error && (
        <header class="experiment-head">
          <h1>{name}</h1>
          <Skeleton rows={4} height={29} />
        </header>
      )}
      {data && (
        <>
          <Stale error={error} readAt={readAt} page />
          <ExperimentHeader experiment={data} after={refresh} />
        </>
      )}
      {(data || !error) && (
        <>
          <Tabs tab={tab} choose={setTab} counts={data ? { trials: data.trials } : {}} />
          <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
            {tab === 'results' && <Overview name={name} experiment={data} />}
            {tab === 'paper' && (
              <PivotCard experiments={[name]} known={[data?.primary_metric || 'top1', 'loss']} />
            )}
            {tab === 'figures' && data && <Figures experiment={data} />}
            {tab === 'trials' && <TrialsPanel name={name} />}
            {tab === 'specification' && data && <Specification specJson={data.spec_json} />}
          </div>
        </>
      )}
    </div>
  );
}
