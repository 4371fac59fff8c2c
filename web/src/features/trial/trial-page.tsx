// One trial: its stages, each with attempts and their reasons, results, checkpoints and the configuration
// that names it.
import { useState } from 'preact/hooks';
import { hrefs } from '@/shared/hrefs';
import { type PageProps } from '@/shared/router';
import { Annotations } from '@/shared/annotations/annotations';
import { rerunTrial, useTrial } from './data';
import { useExperiment } from '@/parts/experiments';
import type { StageDetail, TrialDetail, TrialStage } from '@/shared/api/messages';
import { count, failureText, plural } from '@/shared/format';
import { CopyButton } from '@/shared/ui/copy';
import { Confirm } from '@/shared/ui/dialog';
import { Icon } from '@/shared/ui/icon';
import { Card, CellName, Figure, ProgressBar, State, stateTone } from '@/shared/ui/parts';
import { PermittedButton } from '@/shared/ui/permitted';
import { Callout, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { say } from '@/shared/ui/toast';
import { LogCard } from './log-card';
import { AttentionCard } from './pictures/attention-card';
import { keptSteps } from './pictures/picture-data';
import { ScoredCards } from './pictures/scored-card';
import { TrainedCard } from './pictures/trained-card';
import { PointsCard } from './points-card';
import { Why } from './why';
import { Attempts, Checkpoints, Configuration, Results } from './stage-parts';
import '@/features/catalog/catalog.css';
import './pictures/pictures.css';
import './trial.css';

function StageHead({ stage }: { stage: TrialStage }) {
  return (
    <>
      {stage.reason !== '' && stage.attempts === 0 && (
        <Callout tone={stateTone(stage.state) === 'bad' ? 'failure' : 'warning'}>
          {failureText(stage.failure_class, stage.reason)}
        </Callout>
      )}
      {stage.state === 'running' && stage.steps > 0 && (
        <div class="progress-cell">
          <ProgressBar
            label={stage.role}
            total={stage.steps}
            parts={[{ label: 'steps', value: stage.step, tone: 'running' }]}
          />
          <span class="number">
            {count(stage.step)} / {count(stage.steps)}
          </span>
        </div>
      )}
    </>
  );
}

function Stage({ stage, detail }: { stage: TrialStage; detail: StageDetail | undefined }) {
  const tools = (
    <>
      {stage.shared && (
        <span class="tag" title="Another experiment references this stage too; it runs once for both">
          shared
        </span>
      )}
      <State state={stage.state} />
    </>
  );
  return (
    <Card title={stage.role} id={`stage-${stage.role}`} tools={tools}>
      <StageHead stage={stage} />
      <p class="quiet identity">
        {plural(stage.attempts, 'attempt')} · identity{' '}
        <code title="SHA-256 of the scientific configuration">{stage.identity.slice(0, 12)}</code>
        {stage.identity !== '' && <CopyButton label="Copy" text={() => stage.identity} />}
      </p>
      {detail && (
        <>
          <Results detail={detail} />
          <Attempts attempts={detail.attempts} />
          <Checkpoints checkpoints={detail.checkpoints} />
          <Configuration json={detail.config_json} />
        </>
      )}
    </Card>
  );
}

const rerunStates = ['failed', 'held', 'cancelled'];

function Rerun({
  detail,
  experiment,
  after,
}: {
  detail: TrialDetail;
  experiment: string;
  after: () => void;
}) {
  const [asked, setAsked] = useState(false);
  const owner = useExperiment(experiment).data?.owner;
  const { ordinal, stages } = detail.trial;
  const n = stages.filter((stage) => rerunStates.includes(stage.state)).length;
  if (n === 0) return null;
  return (
    <>
      <PermittedButton need="submitter" owner={owner} onClick={() => setAsked(true)}>
        <Icon name="again" size={14} />
        Rerun
      </PermittedButton>
      {asked && (
        <Confirm
          title={`Rerun trial ${ordinal}?`}
          text={
            `${plural(n, 'failed, held or cancelled stage')} are queued again from their newest checkpoints, ` +
            'their earlier faults forgiven.'
          }
          action={`Rerun ${plural(n, 'stage')}`}
          run={async () => {
            await rerunTrial(experiment, ordinal);
            say(`Trial ${ordinal} waits again`);
            after();
          }}
          close={() => setAsked(false)}
        />
      )}
    </>
  );
}

// Of the attempt that ran last: where the numbers come from.
function Where({ detail }: { detail: TrialDetail }) {
  const last = detail.stages.flatMap((stage) => stage.attempts).pop();
  if (!last) return null;
  const device = last.device_name || last.device;
  return (
    <>
      {device !== '' && <Figure label="Device">{device}</Figure>}
      {last.path !== '' && <Figure label="Attention path">{last.path}</Figure>}
      <Figure label="Worker">
        <a href={hrefs.worker(last.worker)}>{last.worker}</a>
      </Figure>
    </>
  );
}

function Neighbors({ experiment, ordinal }: { experiment: string; ordinal: number }) {
  const { data } = useExperiment(experiment);
  const link = (to: number, text: string, label: string) => (
    <a class="button button-small" href={hrefs.trial(experiment, to)} aria-label={label}>
      {text}
    </a>
  );
  return (
    <span class="neighbors">
      {ordinal > 0 && link(ordinal - 1, '‹', `Trial ${ordinal - 1}`)}
      {data && ordinal + 1 < data.trials && link(ordinal + 1, '›', `Trial ${ordinal + 1}`)}
    </span>
  );
}

function Head({ detail, experiment, after }: { detail: TrialDetail; experiment: string; after: () => void }) {
  const { trial } = detail;
  return (
    <>
      <div class="title-row">
        <h1>Trial {trial.ordinal}</h1>
        <State state={trial.state} label={trial.retired ? `${trial.state}, retired` : trial.state} />
        <span class="actions">
          <Rerun detail={detail} experiment={experiment} after={after} />
          <Neighbors experiment={experiment} ordinal={trial.ordinal} />
        </span>
      </div>
      <Annotations
        whose={{ experiment, ordinal: trial.ordinal }}
        written={trial}
        owner={useExperiment(experiment).data?.owner}
        after={after}
      />
      <dl class="figures">
        <Figure label="Cell">
          <CellName look={trial.look} label={trial.cell_label} />
        </Figure>
        <Figure label="Seed">{trial.seed}</Figure>
        <Figure label="Stages">
          {trial.stages.filter((stage) => stage.state === 'succeeded').length} / {trial.stages.length}
        </Figure>
        <Where detail={detail} />
      </dl>
    </>
  );
}

// Of a training that a search holds where it is: how. Empty for one that goes on or is done.
export function haltedAs({ state, stages }: TrialDetail['trial'], role: string): '' | 'parked' | 'stopped' {
  if (stages.find((stage) => stage.role === role)?.state !== 'parked') return '';
  return state === 'stopped' ? 'stopped' : 'parked';
}

function Body({ detail, experiment, after }: { detail: TrialDetail; experiment: string; after: () => void }) {
  const { trial, stages } = detail;
  if (!trial.name) return null;
  const first = stages.find((stage) => stage.attempts.length > 0);
  const kept = keptSteps(stages);
  return (
    <>
      <Head detail={detail} experiment={experiment} after={after} />
      {trial.state !== 'succeeded' && <Why experiment={experiment} ordinal={String(trial.ordinal)} />}
      {first && (
        <PointsCard
          experiment={experiment}
          stage={first.stage}
          cell={trial.cell}
          look={trial.look}
          halted={haltedAs(trial, first.role)}
        />
      )}
      <ScoredCards stages={stages} />
      {kept.length > 0 && (
        <>
          <TrainedCard experiment={experiment} ordinal={trial.ordinal} kept={kept} />
          <AttentionCard experiment={experiment} ordinal={trial.ordinal} kept={kept} />
        </>
      )}
      <div class="stages">
        {trial.stages.map((stage) => (
          <Stage key={stage.role} stage={stage} detail={stages.find((each) => each.role === stage.role)} />
        ))}
      </div>
      <LogCard experiment={experiment} stages={stages} />
    </>
  );
}

export default function TrialPage({ params }: PageProps) {
  const name = params['name']!;
  const ordinal = params['ordinal']!;
  const { data, error, readAt, refresh } = useTrial(name, ordinal);
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Where you are">
        <a href={hrefs.experiments()}>Experiments</a>
        <span aria-hidden="true">/</span>
        <a href={hrefs.experiment(name)}>{name}</a>
        <span aria-hidden="true">/</span>
        <a href={`${hrefs.experiment(name)}?tab=trials`}>Trials</a>
        <span aria-hidden="true">/</span>
      </nav>
      {!data && error && <ReadFailure what={`Trial ${ordinal} of ${name}`} error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={6} height={28} />}
      {data && <Stale error={error} readAt={readAt} page />}
      {data && <Body detail={data} experiment={name} after={refresh} />}
    </div>
  );
}
