// The log of decisions, newest last: what was decided, when, by which rule, and whom it concerns.
import { useState } from 'preact/hooks';
import type { SearchDecision } from '@/shared/api/messages';
import { count, moment, plural } from '@/shared/format';
import { hrefs } from '@/shared/hrefs';
import { Card, Switch } from '@/shared/ui/parts';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { useDecisions } from './data';

export const pageOf = 200; // decisions shown at first, and more with each wish
const linksMost = 8;

const tones: Record<string, string> = {
  advance: 'good',
  choose: 'good',
  propose: 'running',
  stop: 'warn',
  override: 'warn',
};

function Whom({ experiment, trials }: { experiment: string; trials: readonly number[] }) {
  const [all, setAll] = useState(false);
  if (trials.length === 0) return null;
  const shown = all ? trials : trials.slice(0, linksMost);
  return (
    <span class="decision-whom">
      {trials.length === 1 ? 'trial' : 'trials'}{' '}
      {shown.map((trial) => (
        <a key={trial} href={hrefs.trial(experiment, trial)}>
          {trial}
        </a>
      ))}
      {trials.length > shown.length && (
        <button type="button" class="button button-small" onClick={() => setAll(true)}>
          and {count(trials.length - shown.length)} more
        </button>
      )}
    </span>
  );
}

function Decision({ experiment, decision }: { experiment: string; decision: SearchDecision }) {
  const { number, kind, phase, rule, rule_revision: revision, principal, time, text, trials } = decision;
  const by = principal !== '' ? `by ${principal}` : rule !== '' ? `rule ${rule}, revision ${revision}` : '';
  return (
    <li class="decision">
      <span class="decision-number number">{count(number)}</span>
      <span class={`chip chip-${tones[kind] ?? 'idle'}`}>{kind}</span>
      <div class="decision-what">
        <p>{text}</p>
        <p class="quiet">
          {[moment(time), phase === '' ? '' : `phase ${phase}`, by].filter((part) => part !== '').join(' · ')}{' '}
          <Whom experiment={experiment} trials={trials} />
        </p>
      </div>
    </li>
  );
}

// Observations are most of a log and say least; they are shown on wish.
export function Decisions({
  experiment,
  decisions,
}: {
  experiment: string;
  decisions: readonly SearchDecision[];
}) {
  const [observed, setObserved] = useState(false);
  const told = decisions.filter((each) => observed || each.kind !== 'observe');
  const left = decisions.length - told.length;
  return (
    <>
      <div class="toolbar toolbar-quiet">
        <Switch label="Observations too" on={observed} set={setObserved} />
        {left > 0 && <span class="quiet">{plural(left, 'observation')} not shown</span>}
      </div>
      {told.length === 0 ? (
        <p class="chart-empty">
          {decisions.length === 0 ? 'Nothing has been decided yet.' : 'Nothing but observations here.'}
        </p>
      ) : (
        <ol class="decisions" aria-label="Decisions, newest last">
          {told.map((each) => (
            <Decision key={each.number} experiment={experiment} decision={each} />
          ))}
        </ol>
      )}
    </>
  );
}

export function TimelineCard({ experiment, decided }: { experiment: string; decided: number }) {
  // Where the list begins is fixed when it is first drawn: what comes later is added at its end.
  const [from, setFrom] = useState(() => Math.max(0, decided - pageOf));
  const { data, error, readAt, refresh } = useDecisions(experiment, from);
  return (
    <Card title="Decisions" id="search-decisions">
      {data && <Stale error={error} readAt={readAt} />}
      {!data && error && <ReadFailure what="The log of decisions" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={5} height={30} />}
      {from > 0 && (
        <p>
          <button
            type="button"
            class="button button-small"
            onClick={() => setFrom(Math.max(0, from - pageOf))}
          >
            Show {count(Math.min(pageOf, from))} earlier
          </button>{' '}
          <span class="quiet">{plural(from, 'earlier decision')}</span>
        </p>
      )}
      {data && <Decisions experiment={experiment} decisions={data} />}
    </Card>
  );
}
