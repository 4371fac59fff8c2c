// The list of experiments, newest first, live.
import { useRef } from 'preact/hooks';
import { hrefs } from '@/app/routes';
import type { Experiment } from '@/shared/api/types';
import { ago, count, duration, meanStdText, moment, plural, undefinedMark } from '@/shared/format';
import { useNow, useSeen } from '@/shared/ui/hooks';
import { ProgressBar, State, Swatch } from '@/shared/ui/parts';
import { Empty, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { CopyButton } from '@/shared/ui/copy';
import { useBest, useExperiments } from './data';
import './experiments.css';

function BestRow({ name }: { name: string }) {
  const { data: table } = useBest(name);
  const best = table?.rows.find((row) => row.n > 0);
  if (!table || !best) return <span class="quiet">{table ? 'no result yet' : ''}</span>;
  return (
    <span class="best">
      <span class="best-label">
        <Swatch cell={best.cell} />
        <span class="cell-label" title={best.label}>
          {best.label}
        </span>
      </span>
      <span class="number">
        {meanStdText(best.mean, best.std)}
        <small> {table.unit || table.metric}</small>
      </span>
    </span>
  );
}

// The best row is a table of its own to compute: asked for only when its line comes into sight.
function Best({ name }: { name: string }) {
  const place = useRef<HTMLSpanElement>(null);
  const seen = useSeen(place);
  return (
    <span ref={place} class="best-place">
      {seen && <BestRow name={name} />}
    </span>
  );
}

const failures = (stages: Readonly<Record<string, number>>) =>
  (stages['failed'] ?? 0) + (stages['held'] ?? 0);

function Row({ experiment, now }: { experiment: Experiment; now: number }) {
  const { name, trials, trials_done: done, running, state, stages } = experiment;
  const live = state === 'active' || state === 'paused';
  const bad = failures(stages);
  return (
    <tr>
      <th scope="row" class="column-experiment">
        <a href={hrefs.experiment(name)}>{name}</a>
        <small class="clip" title={experiment.description}>
          {experiment.description || experiment.owner}
        </small>
      </th>
      <td data-label="Dataset">{experiment.dataset}</td>
      <td data-label="State">
        <State state={state} />
      </td>
      <td data-label="Trials" class="column-progress">
        <span class="progress-cell">
          <ProgressBar
            label={`Trials of ${name}`}
            total={trials}
            parts={[
              { label: 'done', value: done, tone: 'good' },
              { label: 'running', value: Math.min(running.length, trials - done), tone: 'running' },
            ]}
          />
          <span class="number">
            {count(done)} / {count(trials)}
          </span>
        </span>
        {bad > 0 && <small class="bad">{plural(bad, 'stage')} failed</small>}
      </td>
      <td data-label="Running" class="number">
        {running.length || undefinedMark}
      </td>
      <td data-label="Time left" class="number">
        {live ? duration(experiment.eta_seconds) : undefinedMark}
      </td>
      <td data-label="Best" class="column-best">
        <Best name={name} />
      </td>
      <td data-label="Created">
        <span title={moment(experiment.create_time)}>{ago(experiment.create_time, now)}</span>
      </td>
    </tr>
  );
}

function ExperimentsTable({ experiments }: { experiments: readonly Experiment[] }) {
  const now = useNow();
  return (
    <div class="card card-flush">
      <table class="table experiments">
        <caption class="off-screen">Experiments, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Experiment</th>
            <th scope="col">Dataset</th>
            <th scope="col">State</th>
            <th scope="col">Trials</th>
            <th scope="col" class="number">
              Running
            </th>
            <th scope="col" class="number">
              Time left
            </th>
            <th scope="col">Best</th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {experiments.map((experiment) => (
            <Row key={experiment.name} experiment={experiment} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const firstCommand = 'locus submit examples/fashion-mnist-priors.yaml';

export default function ExperimentsPage() {
  const { data, error, readAt, refresh } = useExperiments();
  const running = data?.reduce((sum, each) => sum + each.running.length, 0) ?? 0;
  return (
    <div class="page">
      <div class="title-row">
        <h1>Experiments</h1>
        {data && data.length > 0 && (
          <p class="quiet">
            {plural(data.length, 'experiment')} ·{' '}
            {running === 0 ? 'nothing running' : `${plural(running, 'stage')} running`}
          </p>
        )}
      </div>
      {!data && error && <ReadFailure what="The list of experiments" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={6} height={36} />}
      {data && <Stale error={error} readAt={readAt} page />}
      {data && data.length === 0 && (
        <Empty title="No experiments yet" text="Submit a specification and it appears here.">
          <div class="command">
            <code>{firstCommand}</code>
            <CopyButton label="Copy" text={() => firstCommand} />
          </div>
        </Empty>
      )}
      {data && data.length > 0 && <ExperimentsTable experiments={data} />}
    </div>
  );
}
