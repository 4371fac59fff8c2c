// The workers: their slots, what runs on them, when they were last heard.
import { hrefs } from '@/app/routes';
import type { Worker } from '@/shared/api/types';
import { ago, bytes, count, moment, plural } from '@/shared/format';
import { CopyButton } from '@/shared/ui/copy';
import { useNow } from '@/shared/ui/hooks';
import { Card, ProgressBar, State } from '@/shared/ui/parts';
import { Empty, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { useWorkers } from './data';
import './workers.css';

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

function RunningAttempt({ attempt }: { attempt: Worker['running'][number] }) {
  const trial = trialOfTitle(attempt.title);
  return (
    <li class="running">
      <div class="running-what">
        {trial ? (
          <a href={hrefs.trial(trial.experiment, trial.ordinal)}>{attempt.title}</a>
        ) : (
          <b>{attempt.title}</b>
        )}
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

function WorkerCard({ worker, now }: { worker: Worker; now: number }) {
  const free = Math.max(0, worker.slots.length - worker.running.length);
  return (
    <Card
      title={worker.name}
      id={`worker-${worker.name}`}
      class="worker"
      tools={<State state={worker.state} />}
    >
      <p class="quiet">
        {worker.host} · {slotSummary(worker)}
        {worker.state === 'active' && `, ${free} free`} · version {worker.version || 'unknown'} ·{' '}
        <span title={moment(worker.seen_time)}>heard {ago(worker.seen_time, now)}</span>
      </p>
      <ul class="slots" aria-label="Slots">
        {worker.slots.map((slot) => (
          <li key={`${slot.device}${slot.index}`} class="tag">
            {slot.device}:{slot.index} {slot.name !== slot.device && slot.name}
            {slot.threads > 0 && ` · ${plural(slot.threads, 'thread')}`}
            {slot.memory_bytes > 0 && ` · ${bytes(slot.memory_bytes)}`}
          </li>
        ))}
      </ul>
      {worker.running.length > 0 ? (
        <ul class="running-list">
          {worker.running.map((attempt) => (
            <RunningAttempt key={`${attempt.stage}/${attempt.attempt}`} attempt={attempt} />
          ))}
        </ul>
      ) : (
        <p class="quiet">Idle</p>
      )}
    </Card>
  );
}

const firstCommand = 'locus worker --server 127.0.0.1:7070 --slots 2';

export default function WorkersPage() {
  const now = useNow(5000);
  const { data, error, readAt, refresh } = useWorkers();
  return (
    <div class="page">
      <div class="title-row">
        <h1>Workers</h1>
      </div>
      {!data && error && <ReadFailure what="The list of workers" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={4} height={40} />}
      {data && <Stale error={error} readAt={readAt} page />}
      {data && data.workers.length === 0 && (
        <Empty title="No workers yet" text="Start one on this machine or on another; it announces itself.">
          <div class="command">
            <code>{firstCommand}</code>
            <CopyButton label="Copy" text={() => firstCommand} />
          </div>
        </Empty>
      )}
      <div class="worker-grid">
        {data?.workers.map((worker) => (
          <WorkerCard key={worker.name} worker={worker} now={now} />
        ))}
      </div>
    </div>
  );
}
