// One trial: its stages, each with attempts and their reasons, results, checkpoints and the configuration
// that names it.
import { hrefs, type PageProps } from '@/app/routes';
import type { StageDetail, TrialDetail, TrialStage } from '@/shared/api/types';
import { count, failureText, plural } from '@/shared/format';
import { CopyButton } from '@/shared/ui/copy';
import { Card, CellName, Figure, ProgressBar, State, stateTone } from '@/shared/ui/parts';
import { Callout, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { useTrial } from './data';
import { Attempts, Checkpoints, Configuration, Results } from './stage-parts';
import './trial.css';

function StageHead({ stage }: { stage: TrialStage }) {
  return (
    <>
      {stage.reason !== '' && (
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
        <span class="tag" title="Another experiment wants this stage too; it runs once for both">
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

function Body({ detail }: { detail: TrialDetail }) {
  const { trial } = detail;
  if (!trial.name) return null;
  return (
    <>
      <div class="title-row">
        <h1>Trial {trial.ordinal}</h1>
        <State state={trial.state} />
      </div>
      <dl class="figures">
        <Figure label="Cell">
          <CellName cell={trial.cell} label={trial.cell_label} />
        </Figure>
        <Figure label="Seed">{trial.seed}</Figure>
        <Figure label="Stages">
          {trial.stages.filter((stage) => stage.state === 'succeeded').length} / {trial.stages.length}
        </Figure>
      </dl>
      {trial.reason !== '' && !trial.stages.some((stage) => stage.reason === trial.reason) && (
        <Callout tone="warning">{trial.reason}</Callout>
      )}
      <div class="stages">
        {trial.stages.map((stage) => (
          <Stage
            key={stage.role}
            stage={stage}
            detail={detail.stages.find((each) => each.role === stage.role)}
          />
        ))}
      </div>
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
      {data && <Body detail={data} />}
    </div>
  );
}
