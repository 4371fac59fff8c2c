// A person's word on units: stop them, or let stopped and parked ones go on, each with a reason for the log.
import { useState } from 'preact/hooks';
import type { SearchUnit } from '@/shared/api/messages';
import { plural } from '@/shared/format';
import { Confirm } from '@/shared/ui/dialog';
import { say } from '@/shared/ui/toast';
import { continueTrials, stopTrials } from './data';

export type Word = 'stop' | 'continue';

const trialsOf = (units: readonly SearchUnit[]) => units.flatMap((unit) => unit.trials);

export function DecideDialog(props: {
  experiment: string;
  word: Word;
  units: readonly SearchUnit[];
  close: () => void;
  after: () => void;
}) {
  const { experiment, word, units, close, after } = props;
  const [reason, setReason] = useState('');
  const those = plural(units.length, 'unit');
  const trials = trialsOf(units);
  const run = async () => {
    const decide = word === 'stop' ? stopTrials : continueTrials;
    await decide(experiment, trials, reason.trim());
    say(word === 'stop' ? `${those} of ${experiment} stop` : `${those} of ${experiment} go on`);
    after();
  };
  return (
    <Confirm
      title={word === 'stop' ? `Stop ${those}?` : `Let ${those} go on?`}
      action={word === 'stop' ? `Stop ${those}` : `Let ${those} go on`}
      danger={word === 'stop'}
      ready={reason.trim() !== ''}
      run={run}
      close={close}
      text={
        <>
          <p>
            {word === 'stop'
              ? `What runs of ${plural(trials.length, 'trial')} parks at its next validation, and the search goes on.`
              : `${plural(trials.length, 'trial')} are sent to the top, whatever the rules say of them.`}{' '}
            The decision and its reason stand in the log.
          </p>
          <label class="field">
            <span>Reason, for others to read</span>
            <input
              type="text"
              class="input"
              value={reason}
              maxLength={200}
              required
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </label>
        </>
      }
    />
  );
}
