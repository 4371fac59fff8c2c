// What the attempts of a trial printed, followed as it grows.
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { type QueryCodec, useQuery } from '@/shared/router';
import { concerning, useLive } from '@/shared/api/live';
import type { StageDetail } from '@/shared/api/messages';
import { bytes } from '@/shared/format';
import { DownloadButton } from '@/shared/ui/copy';
import { SelectField } from '@/shared/ui/fields';
import { Card } from '@/shared/ui/parts';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { logReader } from './data';

interface Chosen {
  stage: number;
  role: string;
  attempt: number;
}

// "train/2" in the address.
const attemptQuery: QueryCodec<string> = { read: (text) => text ?? '', write: (text) => text || null };
const nameOf = ({ role, attempt }: Chosen) => `${role}/${attempt}`;

export function attemptsOf(stages: readonly StageDetail[]): Chosen[] {
  return stages.flatMap(({ stage, role, attempts }) =>
    attempts.map((attempt) => ({ stage, role, attempt: attempt.number })),
  );
}

// Of the stage that ran last.
const newest = (stages: readonly StageDetail[]): Chosen | undefined => {
  const started = stages.flatMap((each) =>
    each.attempts.map((attempt) => ({ each, attempt, time: attempt.start_time ?? 0 })),
  );
  const last = started.sort((a, b) => a.time - b.time || a.attempt.number - b.attempt.number).pop();
  return last && { stage: last.each.stage, role: last.each.role, attempt: last.attempt.number };
};

// Stays at the end as text arrives, unless the reader has scrolled up.
function useTail(text: string) {
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const onScroll = () => {
    const node = box.current;
    if (node) atEnd.current = node.scrollHeight - node.scrollTop - node.clientHeight < 24;
  };
  return { box, onScroll };
}

function LogText({ experiment, chosen }: { experiment: string; chosen: Chosen }) {
  const load = useMemo(() => logReader(chosen.stage, chosen.attempt), [chosen.stage, chosen.attempt]);
  const ended = useRef(false);
  const concerned = concerning(experiment, 'log', 'attempt-ended', 'stage-state');
  const { data, error, readAt, refresh } = useLive(
    `log ${chosen.stage} ${chosen.attempt}`,
    load,
    (change) => !ended.current && concerned(change),
  );
  ended.current = data?.ended ?? false;
  const { box, onScroll } = useTail(data?.text ?? '');
  if (!data)
    return error ? <ReadFailure what="The log" error={error} retry={refresh} /> : <Skeleton rows={5} />;
  return (
    <>
      <Stale error={error} readAt={readAt} />
      {data.text === '' ? (
        <p class="quiet">{data.ended ? 'It printed nothing.' : 'It has printed nothing yet.'}</p>
      ) : (
        <pre
          class="code log"
          tabIndex={0}
          ref={box}
          onScroll={onScroll}
          aria-label={`Log of ${nameOf(chosen)}`}
        >
          {data.text}
        </pre>
      )}
      <p class="table-note">
        {bytes(data.total)}
        {data.from > 0 && `, from byte ${data.from} on`} · {data.ended ? 'complete' : 'followed as it grows'}
        {data.text !== '' && (
          <DownloadButton
            label="Download the log"
            name={`${experiment}-${chosen.role}-${chosen.attempt}.log`}
            type="text/plain"
            text={() => data.text}
          />
        )}
      </p>
    </>
  );
}

export function LogCard({ experiment, stages }: { experiment: string; stages: readonly StageDetail[] }) {
  const [asked, setAsked] = useQuery('log', attemptQuery);
  const attempts = attemptsOf(stages);
  const chosen = attempts.find((each) => nameOf(each) === asked) ?? newest(stages);
  if (!chosen) return null;
  const tools = (
    <SelectField
      label="Attempt"
      value={nameOf(chosen)}
      options={attempts.map((each) => ({
        value: nameOf(each),
        text: `${each.role}, attempt ${each.attempt}`,
      }))}
      choose={setAsked}
    />
  );
  return (
    <Card title="Log" id="log" tools={tools}>
      <LogText key={nameOf(chosen)} experiment={experiment} chosen={chosen} />
    </Card>
  );
}
