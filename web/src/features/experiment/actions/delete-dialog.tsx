// Deleting, after its dry run: what goes, what stays because others need it.
import { useState } from 'preact/hooks';
import type { DeleteExperimentResponse } from '@/shared/api/messages';
import { bytes, count, plural } from '@/shared/format';
import { Confirm } from '@/shared/ui/dialog';
import { Figure, Switch } from '@/shared/ui/parts';
import { Callout, Skeleton } from '@/shared/ui/states';
import { deleteExperiment, useDeletion } from './data';

function What({ deletion }: { deletion: DeleteExperimentResponse }) {
  return (
    <>
      <dl class="figures figures-small">
        <Figure label="Trials">{count(deletion.trials)}</Figure>
        <Figure label="Stages">{count(deletion.stages)}</Figure>
        <Figure label="Attempts">{count(deletion.attempts)}</Figure>
        <Figure label="Points">{count(deletion.points)}</Figure>
        <Figure label="Artifacts">{count(deletion.artifacts)}</Figure>
        <Figure label="Frees">{bytes(deletion.bytes)}</Figure>
      </dl>
      {deletion.stages_kept > 0 && (
        <Callout tone="note">
          {plural(deletion.stages_kept, 'stage')} with results and checkpoints stay, because{' '}
          {deletion.kept_for.join(', ') || 'other experiments'} need them.
        </Callout>
      )}
    </>
  );
}

export function DeleteDialog({ name, close, done }: { name: string; close: () => void; done: () => void }) {
  const { data, error } = useDeletion(name);
  const [force, setForce] = useState(false);
  const unfinished = data?.stages_unfinished ?? 0;
  const run = async () => {
    await deleteExperiment(name, force);
    done();
  };
  return (
    <Confirm
      title={`Delete ${name}?`}
      action="Delete for good"
      danger
      ready={data !== undefined && (unfinished === 0 || force)}
      run={run}
      close={close}
      text={
        <>
          <p>This cannot be undone. It would remove:</p>
          {!data && !error && <Skeleton rows={2} height={20} />}
          {!data && error && <Callout tone="failure">{error.message}</Callout>}
          {data && <What deletion={data} />}
          {unfinished > 0 && (
            <Callout tone="warning">
              {plural(unfinished, 'stage')} wait or run.
              <Switch label="Cancel them first" on={force} set={setForce} />
            </Callout>
          )}
        </>
      }
    />
  );
}
