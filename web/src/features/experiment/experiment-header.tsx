// The head of an experiment: name, state, figures, progress by stage state, and what runs now.
import { hrefs } from '@/shared/hrefs';
import { Annotations } from '@/shared/annotations/annotations';
import type { Experiment, RunningStage } from '@/shared/api/messages';
import { ago, count, duration, moment, percent, plural } from '@/shared/format';
import { useNow } from '@/shared/ui/hooks';
import { Callout } from '@/shared/ui/states';
import { ExperimentActions } from './actions/experiment-actions';
import { Icon } from '@/shared/ui/icon';
import { Figure, ProgressBar, type ProgressPart, State, stateTone } from '@/shared/ui/parts';

const order = ['succeeded', 'running', 'parked', 'failed', 'held', 'cancelled', 'queued', 'blocked'] as const;

// Stage states as parts of the bar; what only waits is the bar's empty rest.
export function stageParts(stages: Readonly<Record<string, number>>): ProgressPart[] {
  return order
    .filter((state) => state !== 'queued' && state !== 'blocked')
    .map((state) => ({ label: state, value: stages[state] ?? 0, tone: stateTone(state) }));
}

function StageLegend({ stages }: { stages: Readonly<Record<string, number>> }) {
  const shown = order.filter((state) => (stages[state] ?? 0) > 0);
  return (
    <ul class="stage-legend" aria-label="Stages by state">
      {shown.map((state) => (
        <li key={state}>
          <span class={`legend-dot tone-${stateTone(state)}`} aria-hidden="true" />
          {count(stages[state]!)} {state}
        </li>
      ))}
    </ul>
  );
}

function ordinalOf(trial: string): number {
  return Number(trial.slice(trial.lastIndexOf('/') + 1));
}

function Running({ experiment, stage }: { experiment: string; stage: RunningStage }) {
  return (
    <li class="running">
      <div class="running-what">
        <a href={hrefs.trial(experiment, ordinalOf(stage.trial))}>{stage.cell_label}</a>
        <span>
          seed {stage.seed} · {stage.role}
          {stage.attempt > 1 && ` · attempt ${stage.attempt}`}
        </span>
      </div>
      <ProgressBar
        label={`${stage.cell_label} seed ${stage.seed}`}
        total={Math.max(1, stage.steps)}
        parts={[{ label: 'steps', value: stage.step, tone: 'running' }]}
      />
      <div class="running-where">
        <span>{stage.worker}</span>
        <span class="number">
          {stage.steps > 0 ? `${count(stage.step)} / ${count(stage.steps)}` : stage.phase || 'starting'}
        </span>
      </div>
    </li>
  );
}

const runningShown = 8;

export function RunningList({ experiment }: { experiment: Experiment }) {
  const { running, name, state } = experiment;
  if (running.length === 0 && state !== 'active') return null;
  return (
    <section class="running-now" aria-label="Running now">
      {running.length === 0 ? (
        <p class="quiet">Nothing runs at the moment: the next stages wait for a free worker.</p>
      ) : (
        <ul>
          {running.slice(0, runningShown).map((stage) => (
            <Running key={`${stage.stage}/${stage.attempt}`} experiment={name} stage={stage} />
          ))}
        </ul>
      )}
      {running.length > runningShown && <p class="quiet">and {count(running.length - runningShown)} more</p>}
    </section>
  );
}

// Whether the specification lets anything be decided while it runs.
export function searches(specJson: string): boolean {
  try {
    const spec = JSON.parse(specJson || '{}') as { search?: unknown; phases?: unknown };
    return spec.search !== undefined || spec.phases !== undefined;
  } catch {
    return false;
  }
}

export function ExperimentHeader({
  experiment,
  after,
}: {
  experiment: Experiment;
  after: () => void; // an action
}) {
  const now = useNow();
  const { state, trials, trials_done: done, stages, stages_total: total } = experiment;
  const over = state !== 'active' && state !== 'paused';
  return (
    <header class="experiment-head">
      <div class="title-row">
        <h1>{experiment.name}</h1>
        <State state={state} />
        {searches(experiment.spec_json) && (
          <a class="button button-small" href={hrefs.search(experiment.name)}>
            <Icon name="search" size={14} />
            Search
          </a>
        )}
        <ExperimentActions experiment={experiment} after={after} />
      </div>
      {experiment.reason !== '' && <Callout tone="warning">{experiment.reason}</Callout>}
      {experiment.description !== '' && <p class="lead">{experiment.description}</p>}
      <Annotations
        whose={{ experiment: experiment.name }}
        written={experiment}
        owner={experiment.owner}
        after={after}
      />
      <dl class="figures">
        <Figure label="Trials" note={percent(done, trials)}>
          {count(done)} / {count(trials)}
        </Figure>
        <Figure label="Cells">{count(experiment.cells)}</Figure>
        <Figure
          label={over ? 'Took' : 'Elapsed'}
          note={experiment.revision > 1 ? 'since it was first submitted' : undefined}
        >
          {duration(experiment.elapsed_seconds)}
        </Figure>
        {!over && <Figure label="Time left">{duration(experiment.eta_seconds)}</Figure>}
        <Figure label="Dataset">{experiment.dataset}</Figure>
        <Figure label="Metric">{experiment.primary_metric}</Figure>
        <Figure label="Created">
          <span title={moment(experiment.create_time)}>{ago(experiment.create_time, now)}</span>
        </Figure>
        {experiment.owner !== '' && <Figure label="Owner">{experiment.owner}</Figure>}
      </dl>
      <div class="progress-block">
        <ProgressBar label="Stages" total={total} parts={stageParts(stages)} />
        <div class="progress-caption">
          <StageLegend stages={stages} />
          <span>{plural(total, 'stage')}</span>
        </div>
      </div>
      <RunningList experiment={experiment} />
    </header>
  );
}
