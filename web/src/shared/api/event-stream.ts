// The page's one event stream: resumes by cursor, reconnects by itself, and turns into polling while it
// cannot be had.
// Read with fetch, not EventSource: that one gives up for good on an error status and hides the comments that
// show life.
import { onReachability } from './client';
import { EventParser, type ServerSentEvent } from './sse';
import { type Event, WatchEventsResponse } from './messages';

// live: pushed. connecting: first or renewed attempt. polling: no stream, but the server answers. offline:
// nothing answers.
export type Connection = 'connecting' | 'live' | 'polling' | 'offline';

// What happened: 'all' when anything may have (a gap, a reconnect, a poll), else the experiments and the
// event.
export type Change = { all: true } | { all: false; experiments: readonly string[]; event: Event };

export interface StreamOptions {
  fetch: typeof fetch;
  firstRetryMs: number;
  mostRetryMs: number;
  silenceMs: number; // the server comments every 15 s
  pollMs: number;
  failuresBeforePolling: number;
}

const defaults: Omit<StreamOptions, 'fetch'> = {
  firstRetryMs: 500,
  mostRetryMs: 10_000,
  silenceMs: 40_000,
  pollMs: 5_000,
  failuresBeforePolling: 2,
};

// The experiments an event concerns: stated in its json, or by its subject.
export function experimentsOf(event: Event): readonly string[] {
  if (event.subject.startsWith('experiments/')) return [event.subject.slice('experiments/'.length)];
  try {
    const stated: unknown = (JSON.parse(event.json || '{}') as { experiments?: unknown }).experiments;
    return Array.isArray(stated) ? stated.filter((name): name is string => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

export class EventStream {
  private readonly options: StreamOptions;
  private readonly changeListeners = new Set<(change: Change) => void>();
  private readonly stateListeners = new Set<(state: Connection) => void>();
  private cursor: string | null = null;
  private failures = 0;
  private reachable = true;
  private open = false;
  private running: AbortController | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private poll: ReturnType<typeof setInterval> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private stopWatching: (() => void) | undefined;
  private state_: Connection = 'connecting';

  constructor(options: Partial<StreamOptions> = {}) {
    this.options = { fetch: (...call) => fetch(...call), ...defaults, ...options };
  }

  get state(): Connection {
    return this.state_;
  }

  onChange(listener: (change: Change) => void): () => void {
    this.changeListeners.add(listener);
    return () => this.changeListeners.delete(listener);
  }

  onState(listener: (state: Connection) => void): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  start(): void {
    if (this.running) return;
    this.stopWatching ??= onReachability((reachable) => {
      this.reachable = reachable;
      this.settle();
    });
    void this.connect();
  }

  // Lets go of the connection (a hidden tab must not hold one of the browser's six). start() resumes at the
  // cursor.
  stop(): void {
    this.running?.abort();
    this.running = null;
    this.open = false;
    clearTimeout(this.retry);
    clearTimeout(this.silence);
    clearInterval(this.poll);
    this.poll = undefined;
    this.stopWatching?.();
    this.stopWatching = undefined;
  }

  // Tries again at once, by a person's wish.
  reconnect(): void {
    this.stop();
    this.failures = 0;
    this.start();
  }

  private settle(): void {
    const down = this.failures >= this.options.failuresBeforePolling;
    const next: Connection = this.open
      ? 'live'
      : !down
        ? 'connecting'
        : this.reachable
          ? 'polling'
          : 'offline';
    if (next === this.state_) return;
    this.state_ = next;
    this.stateListeners.forEach((listener) => listener(next));
  }

  private emit(change: Change): void {
    this.changeListeners.forEach((listener) => listener(change));
  }

  private async connect(): Promise<void> {
    const abort = new AbortController();
    this.running = abort;
    try {
      this.watchSilence(abort);
      const query = this.cursor === null ? '' : `?cursor=${encodeURIComponent(this.cursor)}`;
      const response = await this.options.fetch(`/api/v1/events${query}`, {
        headers: {
          Accept: 'text/event-stream',
          ...(this.cursor === null ? {} : { 'Last-Event-ID': this.cursor }),
        },
        cache: 'no-store',
        signal: abort.signal,
      });
      if (response.status === 400) this.cursor = null; // of another database: start afresh
      const type = response.headers.get('Content-Type') ?? '';
      if (!response.ok || !response.body || !type.startsWith('text/event-stream'))
        throw new Error(`status ${response.status}`);
      this.opened();
      await this.consume(response.body, abort);
    } catch {
      // Every failure ends here alike: the stream is gone and is tried again.
    }
    if (this.running === abort) this.failed();
  }

  private opened(): void {
    this.open = true;
    this.failures = 0;
    this.reachable = true;
    clearInterval(this.poll);
    this.poll = undefined;
    this.settle();
    this.emit({ all: true }); // points and progress are not stored: a cursor alone does not bring them back
  }

  private async consume(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser((event) => this.take(event));
    for (;;) {
      this.watchSilence(abort);
      const { done, value } = await reader.read();
      if (done || this.running !== abort) return;
      parser.push(decoder.decode(value, { stream: true }));
    }
  }

  private take(event: ServerSentEvent): void {
    if (event.id !== null && event.id !== '') this.cursor = event.id;
    if (event.event !== 'change') return;
    let message;
    try {
      message = WatchEventsResponse(JSON.parse(event.data), 'event');
    } catch {
      return this.emit({ all: true }); // unreadable: whatever it said, reading afresh covers it
    }
    if (message.truncated) this.emit({ all: true });
    for (const each of message.events)
      this.emit({ all: false, experiments: experimentsOf(each), event: each });
  }

  private watchSilence(abort: AbortController): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      if (this.running !== abort) return;
      this.failed();
      abort.abort();
    }, this.options.silenceMs);
  }

  private failed(): void {
    clearTimeout(this.silence);
    this.running = null;
    this.open = false;
    this.failures += 1;
    this.settle();
    const { firstRetryMs, mostRetryMs, pollMs, failuresBeforePolling } = this.options;
    if (this.failures >= failuresBeforePolling) {
      this.poll ??= setInterval(() => this.emit({ all: true }), pollMs);
    }
    const delay = Math.min(mostRetryMs, firstRetryMs * 2 ** (this.failures - 1));
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.connect(), delay);
  }
}
