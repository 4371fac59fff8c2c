// The event stream: parsing, cursor, reconnection, polling.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Change, type Connection, EventStream, experimentsOf } from './event-stream';
import { EventParser, type ServerSentEvent } from './sse';

function parse(...chunks: string[]): ServerSentEvent[] {
  const events: ServerSentEvent[] = [];
  const parser = new EventParser((event) => events.push(event));
  chunks.forEach((chunk) => parser.push(chunk));
  return events;
}

describe('EventParser', () => {
  test('reads an event cut anywhere', () => {
    const text = ': alive\n\nid: 7\nevent: change\ndata: {"a":1}\n\n';
    const whole = parse(text);
    expect(whole).toEqual([{ id: '7', event: 'change', data: '{"a":1}' }]);
    for (let cut = 1; cut < text.length; cut += 1)
      expect(parse(text.slice(0, cut), text.slice(cut))).toEqual(whole);
  });
  test('takes every line ending, also cut inside one', () => {
    expect(parse('data: x\r', '\n\r\n')).toEqual([{ id: null, event: 'message', data: 'x' }]);
    expect(parse('data: x\r\rdata: y\n\n').map((event) => event.data)).toEqual(['x', 'y']);
  });
  test('joins data lines and drops an event without data', () => {
    expect(parse('data: a\ndata: b\n\nid: 3\n\n').map((event) => event.data)).toEqual(['a\nb']);
  });
});

test('an event names its experiments in its json or its subject', () => {
  const event = {
    id: 1,
    time: null,
    kind: 'stage-state',
    subject: 'stages/4',
    json: '{"experiments":["a","b"]}',
  };
  expect(experimentsOf(event)).toEqual(['a', 'b']);
  expect(experimentsOf({ ...event, subject: 'experiments/c', json: '{}' })).toEqual(['c']);
  expect(experimentsOf({ ...event, json: 'broken' })).toEqual([]);
});

// A server whose connections a test opens, feeds and ends.
class FakeServer {
  calls: { url: string; headers: Record<string, string>; signal: AbortSignal }[] = [];
  answers: (() => Response | Promise<Response>)[] = [];
  private feed: ReadableStreamDefaultController<Uint8Array> | null = null;

  fetch = (async (url: string, init: RequestInit) => {
    this.calls.push({ url, headers: init.headers as Record<string, string>, signal: init.signal! });
    const next = this.answers.shift();
    if (next) return next();
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (this.feed = controller) });
    init.signal!.addEventListener('abort', () => this.feed?.error(new Error('aborted')));
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream; charset=utf-8' } });
  }) as unknown as typeof fetch;

  async send(text: string): Promise<void> {
    this.feed!.enqueue(new TextEncoder().encode(text));
    await settle();
  }
  async end(): Promise<void> {
    this.feed!.close();
    await settle();
  }
}

const settle = () => vi.advanceTimersByTimeAsync(0);
function changeOf(id: number, experiment: string, truncated = false): string {
  const event = { id: String(id), subject: `experiments/${experiment}`, kind: 'stage-state', json: '{}' };
  const data = JSON.stringify({ cursor: String(id), events: [event], truncated });
  return `id: ${id}\nevent: change\ndata: ${data}\n\n`;
}

describe('EventStream', () => {
  let server: FakeServer;
  let stream: EventStream;
  let changes: Change[];
  let states: Connection[];
  beforeEach(() => {
    vi.useFakeTimers();
    server = new FakeServer();
    stream = new EventStream({
      fetch: server.fetch,
      firstRetryMs: 100,
      mostRetryMs: 1000,
      silenceMs: 40_000,
      pollMs: 5000,
    });
    changes = [];
    states = [];
    stream.onChange((change) => changes.push(change));
    stream.onState((state) => states.push(state));
  });
  afterEach(() => {
    stream.stop();
    vi.useRealTimers();
  });
  const begin = async () => {
    stream.start();
    await settle();
  };
  const named = () => changes.map((change) => (change.all ? 'all' : change.experiments.join()));

  test('is live once open, and has everything read once', async () => {
    await begin();
    expect(states).toEqual(['live']);
    expect(named()).toEqual(['all']);
    await server.send(changeOf(5, 'a') + changeOf(6, 'b'));
    expect(named()).toEqual(['all', 'a', 'b']);
  });
  test('reconnects at the last cursor and has everything read again', async () => {
    await begin();
    expect(server.calls[0]!.url).toBe('/api/v1/events');
    await server.send(changeOf(41, 'a'));
    await server.end();
    expect(stream.state).toBe('connecting');
    await vi.advanceTimersByTimeAsync(100);
    expect(server.calls[1]!.url).toBe('/api/v1/events?cursor=41');
    expect(server.calls[1]!.headers['Last-Event-ID']).toBe('41');
    expect(named()).toEqual(['all', 'a', 'all']);
    expect(stream.state).toBe('live');
  });
  test('a notice without an id moves no cursor', async () => {
    await begin();
    await server.send(changeOf(41, 'a') + changeOf(99, 'a').replace('id: 99\n', ''));
    await server.end();
    await vi.advanceTimersByTimeAsync(100);
    expect(server.calls[1]!.url).toContain('cursor=41');
  });
  test('waits longer after each failure and polls meanwhile', async () => {
    server.answers = Array.from({ length: 20 }, () => () => new Response('', { status: 503 }));
    await begin();
    expect(stream.state).toBe('connecting');
    await vi.advanceTimersByTimeAsync(100); // the second failure
    expect(stream.state).toBe('polling');
    expect(server.calls).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(200 + 400 + 800);
    expect(server.calls).toHaveLength(5);
    await vi.advanceTimersByTimeAsync(5000);
    expect(named().length).toBeGreaterThanOrEqual(1);
    expect(server.calls.length).toBeLessThanOrEqual(11);
    server.answers = [];
    await vi.advanceTimersByTimeAsync(1000);
    expect(stream.state).toBe('live');
    const polled = changes.length;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(changes.length).toBe(polled); // polling has ended
  });
  test('a wrong content type is a failure, not an endless stream of nothing', async () => {
    server.answers = [() => new Response('<html>', { headers: { 'Content-Type': 'text/html' } })];
    await begin();
    expect(stream.state).toBe('connecting');
    await vi.advanceTimersByTimeAsync(100);
    expect(stream.state).toBe('live');
  });
  test('a silent connection is given up; comments keep it', async () => {
    await begin();
    for (let i = 0; i < 4; i += 1) {
      await vi.advanceTimersByTimeAsync(15_000);
      await server.send(': alive\n\n');
    }
    expect(server.calls).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(40_100);
    expect(server.calls[0]!.signal.aborted).toBe(true);
    expect(server.calls).toHaveLength(2);
    expect(stream.state).toBe('live');
  });
  test('a truncated or unreadable message has everything read', async () => {
    await begin();
    await server.send(changeOf(8, 'a', true));
    await server.send('id: 9\nevent: change\ndata: {broken\n\n');
    expect(named()).toEqual(['all', 'all', 'a', 'all']);
  });
  test('stop holds no connection; start resumes', async () => {
    await begin();
    await server.send(changeOf(12, 'a'));
    stream.stop();
    expect(server.calls[0]!.signal.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.calls).toHaveLength(1);
    await begin();
    expect(server.calls[1]!.url).toContain('cursor=12');
  });
});
