// A live resource: one read for many changes, old data under a failure, no late answer over a newer one.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApiError } from './client';
import { Resource } from './resource';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('many changes become at most one read a second', async () => {
  let reads = 0;
  const resource = new Resource(async () => (reads += 1));
  await resource.read();
  for (let ms = 0; ms < 5000; ms += 10) {
    resource.touch();
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(reads).toBeGreaterThanOrEqual(5);
  expect(reads).toBeLessThanOrEqual(6);
});

test('the last change is never lost', async () => {
  let truth = 1;
  const resource = new Resource(async () => {
    const seen = truth;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return seen;
  });
  const first = resource.read();
  await vi.advanceTimersByTimeAsync(100);
  truth = 2;
  resource.touch(); // while the read is under way
  await vi.advanceTimersByTimeAsync(5000);
  await first;
  expect(resource.state.data).toBe(2);
});

test('a slow read is repeated less often', async () => {
  let reads = 0;
  const resource = new Resource(async () => {
    reads += 1;
    await new Promise((resolve) => setTimeout(resolve, 2000));
  });
  void resource.read();
  for (let i = 0; i < 400; i += 1) {
    resource.touch();
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(reads).toBeLessThanOrEqual(6); // 40 s at 8 s a piece
});

test('data stays under an error, which goes with the next good read', async () => {
  let fail = false;
  const resource = new Resource(async () => {
    if (fail) throw new ApiError('the server does not answer', 0, 'SERVER_UNAVAILABLE');
    return 'data';
  });
  await resource.read();
  fail = true;
  await resource.read();
  expect(resource.state).toMatchObject({ data: 'data', loading: false });
  expect(resource.state.error!.unreachable).toBe(true);
  fail = false;
  await resource.read();
  expect(resource.state.error).toBeUndefined();
});

test('the answer of a read that was overtaken is dropped', async () => {
  const answers: ((value: string) => void)[] = [];
  const resource = new Resource(() => new Promise<string>((resolve) => answers.push(resolve)));
  const [old, young] = [resource.read(), resource.read()];
  answers[1]!('young');
  await young;
  answers[0]!('old');
  await old;
  expect(resource.state.data).toBe('young');
});

test('a closed resource reads no more', async () => {
  let reads = 0;
  const resource = new Resource(async () => (reads += 1));
  resource.touch();
  resource.close();
  resource.touch();
  await vi.advanceTimersByTimeAsync(5000);
  expect(reads).toBe(0);
});
