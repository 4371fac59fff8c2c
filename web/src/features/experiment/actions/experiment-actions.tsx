// The actions of an experiment: pause, resume, rerun, cancel, delete, each after a question.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { navigate } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import { apiPath } from '@/shared/api/client';
import type { Experiment } from '@/shared/api/messages';
import { plural } from '@/shared/format';
import { Confirm } from '@/shared/ui/dialog';
import { Icon, type IconName } from '@/shared/ui/icon';
import { PermittedButton } from '@/shared/ui/permitted';
import { Popover } from '@/shared/ui/popover';
import { say } from '@/shared/ui/toast';
import { cancel, pause, rerun, resume } from './data';
import { DeleteDialog } from './delete-dialog';

type Action = 'pause' | 'resume' | 'rerun' | 'cancel' | 'delete';

// How many stages a rerun would queue again.
export function rerunnable(stages: Readonly<Record<string, number>>): number {
  return (stages['failed'] ?? 0) + (stages['held'] ?? 0) + (stages['cancelled'] ?? 0);
}

// What makes sense in a state, the most likely first.
export function actionsOf({ state, stages }: Pick<Experiment, 'state' | 'stages'>): Action[] {
  const actions: Action[] = [];
  if (rerunnable(stages) > 0) actions.push('rerun');
  if (state === 'paused') actions.push('resume');
  if (state === 'active') actions.push('pause');
  if (state === 'active' || state === 'paused') actions.push('cancel');
  return [...actions, 'delete'];
}

const words: Record<Action, { label: string; icon: IconName }> = {
  pause: { label: 'Pause', icon: 'pause' },
  resume: { label: 'Resume', icon: 'play' },
  rerun: { label: 'Rerun failed', icon: 'again' },
  cancel: { label: 'Cancel', icon: 'stop' },
  delete: { label: 'Delete', icon: 'trash' },
};

interface Question {
  title: string;
  text: ComponentChildren;
  action: string;
  danger?: boolean;
  run: () => Promise<void>;
}

function questionOf(action: Exclude<Action, 'delete'>, experiment: Experiment, after: () => void): Question {
  const { name, stages, running } = experiment;
  const then = (done: Promise<unknown>, text: string) =>
    done.then(() => {
      say(text);
      after();
    });
  const n = rerunnable(stages);
  switch (action) {
    case 'pause':
      return {
        title: `Pause ${name}?`,
        text: `No further stage is given to a worker. What runs goes on to its end (${running.length} now).`,
        action: 'Pause',
        run: () => then(pause(name), `${name} is paused`),
      };
    case 'resume':
      return {
        title: `Resume ${name}?`,
        text: 'Its stages are given to workers again.',
        action: 'Resume',
        run: () => then(resume(name), `${name} goes on`),
      };
    case 'rerun':
      return {
        title: `Rerun what failed in ${name}?`,
        text:
          `${plural(n, 'failed, held or cancelled stage')} are queued again from their newest checkpoints, ` +
          'their earlier faults forgiven. What succeeded stays as it is.',
        action: `Rerun ${plural(n, 'stage')}`,
        run: async () => {
          const { stages: queued } = await rerun(name);
          say(`${plural(queued, 'stage')} of ${name} wait again`);
          after();
        },
      };
    case 'cancel':
      return {
        title: `Cancel ${name}?`,
        text:
          `What runs (${running.length} now) stops, what waits is not started. Results so far stay. ` +
          'Stages that another experiment references go on.',
        action: 'Cancel the experiment',
        danger: true,
        run: () => then(cancel(name), `${name} is cancelled`),
      };
  }
}

export function ExperimentActions({ experiment, after }: { experiment: Experiment; after: () => void }) {
  const [asked, setAsked] = useState<Action | null>(null);
  const { name } = experiment;
  const available = actionsOf(experiment);
  const near = available.filter((action) => action !== 'cancel' && action !== 'delete');
  const close = () => setAsked(null);
  const button = (action: Action, choose: () => void, look: string) => (
    <PermittedButton key={action} need="submitter" owner={experiment.owner} class={look} onClick={choose}>
      <Icon name={words[action].icon} size={14} />
      {words[action].label}
    </PermittedButton>
  );
  return (
    <div class="actions">
      {near.map((action) => button(action, () => setAsked(action), 'button button-small'))}
      <Popover label="More" icon="more">
        {(shut) => (
          <div class="menu">
            <a class="menu-item" href={`${hrefs.create()}?from=${encodeURIComponent(name)}`}>
              <Icon name="plus" size={14} />
              Use as a template
            </a>
            <a class="menu-item" href={apiPath(`/experiments/${encodeURIComponent(name)}/export`)} download>
              <Icon name="download" size={14} />
              Export as JSON lines
            </a>
            {available
              .filter((action) => action === 'cancel' || action === 'delete')
              .map((action) =>
                button(
                  action,
                  () => {
                    shut();
                    setAsked(action);
                  },
                  'menu-item menu-danger',
                ),
              )}
          </div>
        )}
      </Popover>
      {asked === 'delete' && (
        <DeleteDialog
          name={name}
          close={close}
          done={() => {
            say(`${name} is deleted`);
            navigate(hrefs.experiments());
          }}
        />
      )}
      {asked !== null && asked !== 'delete' && (
        <Confirm {...questionOf(asked, experiment, after)} close={close} />
      )}
    </div>
  );
}
