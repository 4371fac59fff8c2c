// The workers: how busy they are, what runs on them, when they were last heard.
import { textQuery, useQuery } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import type { Worker } from '@/shared/api/messages';
import { bytes, plural } from '@/shared/format';
import { CopyButton } from '@/shared/ui/copy';
import { matches, SearchField } from '@/shared/ui/fields';
import { useNow } from '@/shared/ui/hooks';
import { Tally } from '@/shared/ui/tally';
import { Callout, Empty, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { useServer, useWorkers } from './data';
import { WorkerActions } from './worker-actions';
import { busySlots, WorkerCard } from './worker-card';
import './workers.css';

const anyText = textQuery('');
const anyState = textQuery('');

function loadText(workers: readonly Worker[]): string {
  const heard = workers.filter((each) => each.state !== 'offline');
  const slots = heard.reduce((sum, each) => sum + each.slots.length, 0);
  const busy = heard.reduce((sum, each) => sum + busySlots(each), 0);
  return `${plural(workers.length, 'worker')} · ${busy} of ${plural(slots, 'slot')} busy`;
}

const places = ['active', 'draining', 'silent', 'stopped', 'offline'];
const placeOf = ({ state }: Worker) => (places.includes(state) ? places.indexOf(state) : places.length);

// Those that can work first, those that are gone last, longest gone at the end; else by name.
export const inOrder = (workers: readonly Worker[]): Worker[] =>
  [...workers].sort(
    (a, b) =>
      placeOf(a) - placeOf(b) ||
      (a.state === 'offline' ? (b.seen_time ?? 0) - (a.seen_time ?? 0) : 0) ||
      a.name.localeCompare(b.name),
  );

// The server's own state, where it keeps work from being given.
function ServerState() {
  const { data } = useServer();
  if (!data || data.state === '' || data.state === 'ok') return null;
  return (
    <Callout tone={data.state === 'disk-full' ? 'failure' : 'warning'}>
      {data.reason || data.state}
      {data.disk_free_bytes > 0 && ` ${bytes(data.disk_free_bytes)} free.`}
    </Callout>
  );
}

// How to start one that finds this very server.
function FirstCommand() {
  const { data } = useServer();
  if (!data) return null;
  const command = `locus worker --server ${data.grpc_address} --slots 2`;
  return (
    <div class="command">
      <code>{command}</code>
      <CopyButton label="Copy" text={() => command} />
    </div>
  );
}

function Workers({ workers, refresh }: { workers: readonly Worker[]; refresh: () => void }) {
  const now = useNow(5000);
  const [text, setText] = useQuery('q', anyText);
  const [state, setState] = useQuery('state', anyState);
  const shown = inOrder(workers).filter(
    (each) =>
      (state === '' || each.state === state) &&
      matches(text, each.name, each.host, ...each.slots.map((slot) => `${slot.device} ${slot.name}`)),
  );
  return (
    <>
      <div class="toolbar">
        <SearchField label="Find workers" value={text} set={setText} />
        <Tally
          label="Filter by state"
          values={workers.map((each) => each.state)}
          value={state}
          choose={setState}
        />
      </div>
      {shown.length === 0 && <Empty title="Nothing fits" text="No worker fits what you look for." />}
      <div class="worker-grid">
        {shown.map((worker) => (
          <WorkerCard
            key={worker.name}
            worker={worker}
            now={now}
            title={<a href={hrefs.worker(worker.name)}>{worker.name}</a>}
            actions={<WorkerActions worker={worker} after={refresh} />}
          />
        ))}
      </div>
    </>
  );
}

export default function WorkersPage() {
  const { data, error, readAt, refresh } = useWorkers();
  const some = data && data.workers.length > 0;
  return (
    <div class="page">
      <div class="title-row">
        <h1>Workers</h1>
        {some && <p class="quiet">{loadText(data.workers)}</p>}
      </div>
      {!data && error && <ReadFailure what="The list of workers" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={4} height={40} />}
      {data && <Stale error={error} readAt={readAt} page />}
      {data && <ServerState />}
      {data && !some && (
        <Empty title="No workers yet" text="Start one on this machine or on another; it announces itself.">
          <FirstCommand />
        </Empty>
      )}
      {some && <Workers workers={data.workers} refresh={refresh} />}
    </div>
  );
}
