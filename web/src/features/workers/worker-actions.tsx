// Draining a worker and taking it back, each after a question.
import { useState } from 'preact/hooks';
import type { Worker } from '@/shared/api/messages';
import { moment, plural } from '@/shared/format';
import { Confirm } from '@/shared/ui/dialog';
import { Switch } from '@/shared/ui/parts';
import { PermittedButton } from '@/shared/ui/permitted';
import { say } from '@/shared/ui/toast';
import { drain, undrain } from './data';
import { drainText } from './worker-card';

// What becomes of the stages that it runs.
function fate(running: number, later: boolean, stop: boolean): string {
  if (later)
    return `Before that time it is given what is estimated to end by then; what still runs ${
      stop ? 'is saved and given to other workers.' : 'goes on to its end.'
    }`;
  if (running === 0) return '';
  const then = stop ? 'are saved and given to other workers.' : 'go on to their end.';
  return `${plural(running, 'stage')} it runs ${then}`;
}

const instant = (local: string) => (local === '' ? '' : new Date(local).toISOString());

function DrainDialog({ worker, close, after }: { worker: Worker; close: () => void; after: () => void }) {
  const [reason, setReason] = useState('');
  const [stop, setStop] = useState(false);
  const [until, setUntil] = useState(''); // as the field writes it, in the reader's zone
  const running = worker.running.length;
  const run = async () => {
    const { drain_time: later } = await drain(worker.name, reason.trim(), stop, instant(until));
    say(later === null ? `${worker.name} takes no new work` : `${worker.name} works until ${moment(later)}`);
    after();
  };
  return (
    <Confirm
      title={`Drain ${worker.name}?`}
      action="Drain"
      run={run}
      close={close}
      text={
        <>
          <p>
            It is given no more stages, also after a restart, until it is taken back.{' '}
            {fate(running, until !== '', stop)}
          </p>
          <label class="field">
            <span>Reason, for others to read</span>
            <input
              type="text"
              class="input"
              value={reason}
              maxLength={200}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </label>
          <label class="field">
            <span>From when; empty: now</span>
            <input
              type="datetime-local"
              class="input"
              value={until}
              onInput={(event) => setUntil(event.currentTarget.value)}
            />
          </label>
          <Switch label="Save and stop what it runs" on={stop} set={setStop} />
        </>
      }
    />
  );
}

export function WorkerActions({ worker, after }: { worker: Worker; after: () => void }) {
  const [asked, setAsked] = useState(false);
  const close = () => setAsked(false);
  const draining = worker.state === 'draining' || worker.drain_time !== null;
  return (
    <>
      <PermittedButton need="operator" onClick={() => setAsked(true)}>
        {draining ? 'Take back' : 'Drain'}
      </PermittedButton>
      {asked && !draining && <DrainDialog worker={worker} close={close} after={after} />}
      {asked && draining && (
        <Confirm
          title={`Give work to ${worker.name} again?`}
          text={drainText(worker)}
          action="Take back"
          run={async () => {
            await undrain(worker.name);
            say(`${worker.name} takes work again`);
            after();
          }}
          close={close}
        />
      )}
    </>
  );
}
