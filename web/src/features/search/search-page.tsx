// The search of an experiment: where it stands, how its units fared, and every decision made.
import { useMemo, useState } from 'preact/hooks';
import type { Curves, Search, SearchPhase } from '@/shared/api/messages';
import { count } from '@/shared/format';
import { hrefs } from '@/shared/hrefs';
import { type PageProps, textQuery, useQuery } from '@/shared/router';
import { Card, Choice, Figure, State } from '@/shared/ui/parts';
import { Callout, Empty, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { WhenNear } from '@/shared/ui/when-near';
import { BestCard, CurvesCard } from './course-cards';
import { useSearch } from './data';
import { ImportanceCard } from './importance-card';
import { Ladder } from './ladder';
import { PhasesCard } from './phases-card';
import './search.css';
import { TimelineCard } from './timeline';
import { groupLooks } from './units';
import { UnitsCard } from './units-card';

const phaseQuery = textQuery('');

// The phase asked for, if it has begun; else the last that has. Of one that waits nothing but its name is known.
export function phaseShown(phases: readonly SearchPhase[], asked: string): SearchPhase | undefined {
  const begun = phases.filter((phase) => phase.state !== 'waiting');
  return begun.find((phase) => phase.name === asked && asked !== '') ?? begun[begun.length - 1];
}

function Head({ search }: { search: Search }) {
  const units = search.phases.flatMap((phase) => phase.units);
  const of = (state: string) => count(units.filter((unit) => unit.state === state).length);
  return (
    <>
      <div class="title-row">
        <h1>Search</h1>
        <State state={search.state} />
      </div>
      {search.state === 'ended' && search.reason !== '' && <Callout tone="note">{search.reason}</Callout>}
      <dl class="figures">
        <Figure label="Units">{count(units.length)}</Figure>
        <Figure label="Running">{of('running')}</Figure>
        <Figure label="Parked">{of('parked')}</Figure>
        <Figure label="Finished">{of('finished')}</Figure>
        <Figure label="Stopped">{of('stopped')}</Figure>
        <Figure label="Failed">{of('failed')}</Figure>
        <Figure label="Decisions">{count(search.decided)}</Figure>
        {search.generation > 1 && (
          <Figure label="Generation" note="its rules were replaced">
            {count(search.generation)}
          </Figure>
        )}
      </dl>
      {search.next.length > 0 && (
        <section class="search-next" aria-label="What it waits for">
          <h2>Next</h2>
          <ul>
            {search.next.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </section>
      )}
      {search.decided === 0 && (
        <Callout tone="note">The search has not begun: nothing has been proposed or decided yet.</Callout>
      )}
      {search.state === 'ended' && units.length === 0 && (
        <Callout tone="warning">The search ended with no unit: nothing was ever proposed.</Callout>
      )}
    </>
  );
}

// The parts that are about one phase, which has begun.
function PhaseParts(props: { name: string; search: Search; phase: SearchPhase; after: () => void }) {
  const { name, search, phase, after } = props;
  const [focus, setFocus] = useState<number | null>(null);
  const [cells, setCells] = useState<Curves['cells']>([]);
  const looks = useMemo(() => groupLooks(phase, cells), [phase, cells]);
  const named = useMemo(
    () => new Map(phase.groups.map((group, g) => [group, looks[g]!] as const)),
    [phase, looks],
  );
  const read = (curves: Curves) => cells !== curves.cells && setCells(curves.cells);
  const own = { experiment: name, phase, looks, focus };
  return (
    <>
      <Card title="Rungs" id="search-ladder">
        <Ladder experiment={name} phase={phase} />
      </Card>
      {search.decided > 0 && (
        <div class="charts">
          <CurvesCard {...own} onRead={read} />
          <BestCard experiment={name} looks={named} />
        </div>
      )}
      <UnitsCard {...own} setFocus={setFocus} after={after} />
    </>
  );
}

function Body({ name, search, after }: { name: string; search: Search; after: () => void }) {
  const [asked, setAsked] = useQuery('phase', phaseQuery);
  const phase = phaseShown(search.phases, asked);
  const begun = search.phases.filter((each) => each.state !== 'waiting');
  return (
    <>
      <Head search={search} />
      {search.phases.length > 0 && <PhasesCard search={search} />}
      {begun.length > 1 && phase && (
        <Choice
          label="Phase shown below"
          value={phase.name}
          options={begun.map((each) => ({ value: each.name, text: each.name }))}
          choose={setAsked}
        />
      )}
      {phase && <PhaseParts key={phase.name} name={name} search={search} phase={phase} after={after} />}
      {search.decided > 0 && (
        <>
          <WhenNear>
            <ImportanceCard experiment={name} />
          </WhenNear>
          <TimelineCard experiment={name} decided={search.decided} />
        </>
      )}
    </>
  );
}

export default function SearchPage({ params }: PageProps) {
  const name = params['name']!;
  const { data, error, readAt, refresh } = useSearch(name);
  const none = error?.reason === 'SEARCH_NOT_FOUND';
  return (
    <div class="page search-page">
      <nav class="crumbs" aria-label="Where you are">
        <a href={hrefs.experiments()}>Experiments</a>
        <span aria-hidden="true">/</span>
        <a href={hrefs.experiment(name)}>{name}</a>
        <span aria-hidden="true">/</span>
      </nav>
      {!data && none && (
        <Empty
          title="No search here"
          text={
            <>
              <a href={hrefs.experiment(name)}>{name}</a> runs every cell of its matrix to the end. A search
              needs <code>search:</code> or <code>phases:</code> in its specification, for example{' '}
              <code>search: {'{propose: sobol, proposals: 16, space: {train.lr: {log: [1e-4, 1e-2]}}}'}</code>
              .
            </>
          }
        />
      )}
      {!data && error && !none && (
        <ReadFailure what={`The search of ${name}`} error={error} retry={refresh} />
      )}
      {!data && !error && <Skeleton rows={6} height={28} />}
      {data && <Stale error={error} readAt={readAt} page />}
      {data && <Body name={name} search={data} after={refresh} />}
    </div>
  );
}
