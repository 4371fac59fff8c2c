// One worker: its slots and how busy they are, what runs on it, how its last attempts ended.
import type { ComponentChildren } from 'preact';
import { hrefs } from '@/shared/hrefs';
import type { Worker } from '@/shared/api/messages';
import { ago, bytes, count, duration, moment, plural } from '@/shared/format';
import { Card, ProgressBar, State } from '@/shared/ui/parts';
import { Callout } from '@/shared/ui/states';

// "2 cpu slots" or "1 cuda slot, 2 cpu slots".
export function slotSummary(worker: Worker): string {
  const counts = new Map<string, number>();
  for (const slot of worker.slots) counts.set(slot.device, (counts.get(slot.device) ?? 0) + 1);
  return [...counts].map(([device, n]) => plural(n, `${device} slot`)).join(', ') || 'no slots';
}

// A title reads "NAME/17 violin seed 3"; its head leads to the trial.
export function trialOfTitle(title: string): { experiment: string; ordinal: number } | null {
  const found = /^([a-z][a-z0-9-]*)\/(\d+)(?:\s|$)/.exec(title);
  return found ? { experiment: found[1]!, ordinal: Number(found[2]) } : null;
}

export function TrialLink({ title }: { title: string }) {
  const trial = trialOfTitle(title);
  return trial ? <a href={hrefs.trial(trial.experiment, trial.ordinal)}>{title}</a> : <b>{title}</b>;
}

// Slots in use. A stage may take several; without word of it, one each.
export const busySlots = (worker: Worker) =>
  Math.min(
    worker.slots.length,
    Math.max(
      worker.slots_busy,
      worker.running.reduce((sum, each) => sum + Math.max(1, each.slots.length), 0),
    ),
  );

// Why it is drained, or from when on it will be.
export function drainText({ drain_time: later, reason }: Worker): string {
  const when = later === null ? 'It was drained' : `It is drained from ${moment(later)} on`;
  return reason === '' ? `${when}.` : `${when}: ${reason}`;
}

function RunningAttempt({ attempt, now }: { attempt: Worker['running'][number]; now: number }) {
  return (
    <li class="running">
      <div class="running-what">
        <TrialLink title={attempt.title} />
        {attempt.start_time !== null && <span>{duration((now - attempt.start_time) / 1000)}</span>}
      </div>
      <ProgressBar
        label={attempt.title}
        total={Math.max(1, attempt.steps)}
        parts={[{ label: 'steps', value: attempt.step, tone: 'running' }]}
      />
      <div class="running-where">
        <span>{attempt.phase || `attempt ${attempt.attempt}`}</span>
        <span class="number">
          {attempt.steps > 0 ? `${count(attempt.step)} / ${count(attempt.steps)}` : 'starting'}
        </span>
      </div>
    </li>
  );
}

function Load({ worker }: { worker: Worker }) {
  const busy = busySlots(worker);
  return (
    <div class="load">
      <span
        class="load-slots"
        role="img"
        aria-label={`${busy} of ${plural(worker.slots.length, 'slot')} busy`}
      >
        {worker.slots.map((slot, i) => (
          <span
            key={`${slot.device}${slot.index}`}
            class={i < busy ? 'slot slot-busy' : 'slot'}
            title={[
              `${slot.device}:${slot.index}`,
              slot.name === slot.device ? '' : slot.name,
              slot.threads > 0 ? plural(slot.threads, 'thread') : '',
              slot.memory_bytes > 0 ? bytes(slot.memory_bytes) : '',
            ]
              .filter((part) => part !== '')
              .join(', ')}
          />
        ))}
      </span>
      <span class="number">
        {busy} / {worker.slots.length} busy
      </span>
    </div>
  );
}

export function Outcomes({ worker }: { worker: Worker }) {
  const { failed, succeeded } = worker;
  if (failed + succeeded === 0) return null;
  return (
    <p class={`table-note ${failed > succeeded ? 'bad' : ''}`}>
      Of its last {plural(failed + succeeded, 'attempt')}: {succeeded} succeeded
      {failed > 0 && `, ${failed} failed`}
    </p>
  );
}

const devices = (worker: Worker) => [
  ...new Set(
    worker.slots.map((slot) =>
      [slot.name === slot.device ? '' : slot.name, slot.memory_bytes > 0 ? bytes(slot.memory_bytes) : '']
        .filter((part) => part !== '')
        .join(' '),
    ),
  ),
];

export function WorkerCard({
  worker,
  now,
  title = worker.name,
  actions,
}: {
  worker: Worker;
  now: number;
  title?: ComponentChildren;
  actions: ComponentChildren;
}) {
  const facts = [
    worker.host,
    slotSummary(worker),
    ...devices(worker),
    `version ${worker.version || 'unknown'}`,
    worker.end_time !== null && worker.drain_time === null
      ? `takes work until ${moment(worker.end_time)}`
      : '',
  ];
  return (
    <Card
      title={title}
      id={`worker-${worker.name}`}
      class="worker"
      tools={
        <>
          <State state={worker.state} />
          {actions}
        </>
      }
    >
      {worker.reason !== '' && (
        <Callout tone="warning">{worker.drain_time === null ? worker.reason : drainText(worker)}</Callout>
      )}
      <Load worker={worker} />
      <p class="quiet worker-facts">
        {facts.filter((part) => part !== '').join(' · ')} ·{' '}
        <span title={moment(worker.seen_time)}>heard {ago(worker.seen_time, now)}</span>
      </p>
      {worker.extensions.length > 0 && (
        <p class="quiet worker-facts">
          brings{' '}
          {worker.extensions.map(({ name, digest, current }, i) => (
            <span key={name} title={`code ${digest}`}>
              {i > 0 && ', '}
              {name}@{digest.slice(0, 12)}
              {!current && ' (older code)'}
            </span>
          ))}
        </p>
      )}
      {worker.running.length > 0 ? (
        <ul class="running-list">
          {worker.running.map((attempt) => (
            <RunningAttempt key={`${attempt.stage}/${attempt.attempt}`} attempt={attempt} now={now} />
          ))}
        </ul>
      ) : (
        <p class="quiet worker-idle">Nothing runs on it.</p>
      )}
      <Outcomes worker={worker} />
    </Card>
  );
}
