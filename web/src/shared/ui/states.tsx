// What a view shows when it has nothing to show: loading, empty, failed, stale.
import type { ComponentChildren } from 'preact';
import type { ApiError } from '@/shared/api/client';
import { clockTime } from '@/shared/format';
import { Icon } from './icon';

// Gray bars in the place of what comes, of the same height, so that nothing jumps.
export function Skeleton({ rows = 3, height = 20 }: { rows?: number; height?: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <span key={i} style={{ height: `${height}px`, width: `${100 - ((i * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

export function Empty(props: { title: string; text: ComponentChildren; children?: ComponentChildren }) {
  return (
    <div class="state">
      <h2>{props.title}</h2>
      <p>{props.text}</p>
      {props.children}
    </div>
  );
}

export function Failure(props: { title: string; text: ComponentChildren; retry?: () => void }) {
  return (
    <div class="state state-failure" role="alert">
      <Icon name="warning" size={22} />
      <h2>{props.title}</h2>
      <p>{props.text}</p>
      {props.retry && (
        <button type="button" class="button" onClick={props.retry}>
          Try again
        </button>
      )}
    </div>
  );
}

// A failed first read.
export function ReadFailure({ what, error, retry }: { what: string; error: ApiError; retry: () => void }) {
  if (error.unreachable) {
    return (
      <Failure
        title="The server does not answer"
        text={`${what} cannot be read. The page goes on trying by itself.`}
        retry={retry}
      />
    );
  }
  if (error.status === 404) return <Failure title="Not found" text={error.message} />;
  return <Failure title={`${what} cannot be read`} text={error.message} retry={retry} />;
}

// A failed later read: the old numbers stay, and say so. When the server is away, every part of a page fails
// alike: the page
// says it once (`page`), over the content and not in it, so that nothing moves.
export function Stale({
  error,
  readAt,
  page,
}: {
  error: ApiError | undefined;
  readAt: number | undefined;
  page?: boolean;
}) {
  if (!error || (error.unreachable && !page)) return null;
  return (
    <p class={error.unreachable ? 'stale stale-page' : 'stale'} role="status">
      <Icon name="warning" size={14} />
      {error.unreachable ? 'The server does not answer' : error.message}
      {readAt !== undefined && <>; shown as of {clockTime(readAt)}</>}
    </p>
  );
}

export function Callout({
  tone,
  children,
}: {
  tone: 'note' | 'warning' | 'failure';
  children: ComponentChildren;
}) {
  return (
    <div class={`callout callout-${tone}`}>
      {tone !== 'note' && <Icon name="warning" size={15} />}
      <div>{children}</div>
    </div>
  );
}
