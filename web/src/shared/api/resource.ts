// Something read from the server that stays fresh: read once, read again when told it may have changed, at
// most once a second.
import { ApiError } from './client';

export interface ResourceState<T> {
  data: T | undefined;
  error: ApiError | undefined; // of the last read; the data of the one before stays
  loading: boolean;
  readAt: number | undefined; // of `data`, milliseconds since the epoch
}

export class Resource<T> {
  private readonly listeners = new Set<() => void>();
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private startedAt = -Infinity;
  private tookMs = 0;
  private again = false;
  private closed = false;
  state: ResourceState<T>;

  // `initial`: what to show until the first answer (the last data of a neighboring view, so that nothing
  // jumps).
  constructor(
    private readonly load: (signal: AbortSignal) => Promise<T>,
    private readonly leastMs = 1000,
    initial?: T,
  ) {
    this.state = { data: initial, error: undefined, loading: true, readAt: undefined };
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // Reads soon: many calls become one read. A slow read is repeated less often, so a huge list cannot eat the
  // server.
  touch(): void {
    if (this.closed || this.timer !== undefined) return;
    if (this.abort) {
      this.again = true;
      return;
    }
    const spacing = Math.max(this.leastMs, 4 * this.tookMs);
    const wait = Math.max(0, this.startedAt + spacing - Date.now());
    this.timer = setTimeout(() => void this.read(), wait);
  }

  // Reads now.
  async read(): Promise<void> {
    if (this.closed) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.again = false;
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    this.startedAt = Date.now();
    this.set({ loading: true });
    try {
      const data = await this.load(abort.signal);
      if (this.abort === abort) this.set({ data, error: undefined, readAt: Date.now() });
    } catch (error) {
      if (this.abort !== abort) return;
      this.set({ error: error instanceof ApiError ? error : new ApiError(String(error), -1, 'DASHBOARD') });
    }
    if (this.abort !== abort) return;
    this.abort = null;
    this.tookMs = Date.now() - this.startedAt;
    this.set({ loading: false });
    if (this.again) this.touch();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.abort?.abort();
    this.abort = null;
    this.listeners.clear();
  }

  private set(part: Partial<ResourceState<T>>): void {
    this.state = { ...this.state, ...part };
    this.listeners.forEach((listener) => listener());
  }
}
