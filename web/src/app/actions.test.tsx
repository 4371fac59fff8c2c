// What a person does: every action asks first, says what came of it, and stays open with the reason when it is
// refused.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { asked, open, press, serve, shows, type } from '@/test-world';
import { startRouter } from '@/shared/router';

let stopRouter: () => void;
beforeEach(() => {
  stopRouter = startRouter();
  sessionStorage.clear();
});
afterEach(async () => {
  await act(() => render(null, document.body));
  stopRouter();
  vi.unstubAllGlobals();
});

const posts = () => asked.filter((each) => each.startsWith('POST'));

describe('an experiment', () => {
  test('is paused only after the question', async () => {
    serve();
    await open('/experiments/fashion-mnist-priors', 'Leaderboard');
    await press('Pause');
    await shows('Pause fashion-mnist-priors?');
    await press('Keep as it is');
    expect(document.querySelector('dialog')).toBeNull();
    expect(posts()).toEqual([]);
    await press('Pause');
    await press('Pause');
    await shows('fashion-mnist-priors is paused');
    expect(posts()).toEqual(['POST /experiments/fashion-mnist-priors:pause']);
    expect(document.querySelector('dialog')).toBeNull();
  });
  test('a refusal keeps the question open with its reason', async () => {
    serve((path, body) => (path.endsWith(':pause') ? { refused: 'it is cancelled already' } : body));
    await open('/experiments/fashion-mnist-priors', 'Leaderboard');
    await press('Pause');
    await press('Pause');
    await shows('it is cancelled already');
    expect(document.querySelector('dialog')).not.toBeNull();
  });
  test('what failed is queued again, counted before', async () => {
    serve();
    await open('/experiments/high-learning-rates', 'Leaderboard');
    await press('Rerun failed');
    await shows('3 failed, held or cancelled stages');
    await press('Rerun 3 stages');
    await shows('3 stages of high-learning-rates wait again');
    expect(posts()).toEqual(['POST /experiments/high-learning-rates:rerun']);
  });
  test('is deleted after a dry run; unfinished stages need a word more', async () => {
    serve();
    await open('/experiments/fashion-mnist-priors', 'Leaderboard');
    await press('More');
    await press('Delete');
    await shows('16 stages wait or run');
    expect(posts()).toEqual(['POST /experiments/fashion-mnist-priors:delete?dry_run=true']);
    const go = [...document.querySelectorAll('dialog button')].pop() as HTMLButtonElement;
    expect(go.disabled).toBe(true);
    await act(() => document.querySelector<HTMLInputElement>('dialog input')!.click());
    expect(go.disabled).toBe(false);
    await press('Delete for good');
    await shows('fashion-mnist-priors is deleted');
    expect(posts()[1]).toBe('POST /experiments/fashion-mnist-priors:delete?force=true');
    expect(location.pathname).toBe('/experiments');
  });
});

test('a trial is run again', async () => {
  serve();
  await open('/experiments/high-learning-rates/trials/5', 'Attempts');
  await press('Rerun');
  await press('Rerun 1 stage');
  await shows('Trial 5 waits again');
  expect(posts()).toEqual(['POST /experiments/high-learning-rates/trials/5:rerun']);
});

describe('a worker', () => {
  test('is drained with a reason', async () => {
    serve();
    await open('/workers', 'workstation');
    await press('Drain');
    await type(document.querySelector<HTMLInputElement>('dialog input[type=text]')!, 'new driver');
    await press('Drain');
    await shows('workstation takes no new work');
    expect(posts()).toEqual(['POST /workers/workstation:drain?reason=new+driver']);
  });
  test('is drained from a later time on, which can be taken back', async () => {
    const later = Date.parse('2099-12-01T08:00Z');
    serve((path, body) => {
      if (path === '/workers')
        for (const each of (body as { workers: Record<string, unknown>[] }).workers)
          if (each['name'] === 'gpu-node')
            Object.assign(each, { reason: 'new driver', drain_time: new Date(later).toISOString() });
      return body;
    });
    await open('/workers', 'It is drained from');
    await shows('on: new driver');
    await press('Drain');
    const when = document.querySelector<HTMLInputElement>('dialog input[type=datetime-local]')!;
    await type(when, '2099-12-01T08:00');
    await shows('what still runs goes on to its end');
    await press('Drain');
    const until = encodeURIComponent(new Date('2099-12-01T08:00').toISOString());
    await vi.waitFor(() => expect(posts()).toEqual([`POST /workers/workstation:drain?until=${until}`]));
    await press('Take back');
    await press('Take back');
    await shows('gpu-node takes work again');
  });
  test('is taken back, its reason shown', async () => {
    serve((path, body) => {
      if (path === '/workers')
        for (const each of (body as { workers: { state: string; reason: string }[] }).workers)
          Object.assign(each, { state: 'draining', reason: 'fails everything' });
      return body;
    });
    await open('/workers', 'fails everything');
    await press('Take back');
    await shows('It was drained: fails everything');
    await press('Take back');
    await shows('takes work again');
    expect(posts()).toEqual(['POST /workers/gpu-node:undrain']); // both are drained: the first by name
  });
});

describe('a new experiment', () => {
  const editor = () => document.querySelector('textarea')!;
  test('is checked as one types, its mistakes at their lines', async () => {
    serve((path, body) => (path === '/experiments:plan' ? { refused: 'no such prior' } : body));
    await open('/new', '1 problem');
    await type(editor(), 'version: [1\n');
    await shows('line 2');
    expect(document.querySelector('textarea')!.getAttribute('aria-invalid')).toBe('true');
    expect(posts()).toEqual(['POST /experiments:plan']); // unreadable text is not sent
  });
  test('starts from a stored one under another name', async () => {
    serve();
    await open('/new?from=violin-sigma', 'from violin-sigma');
    await vi.waitFor(() => expect(editor().value).toContain('name: violin-sigma-2'));
  });
  test('is submitted after the question, once however often it is tried', async () => {
    serve();
    await open('/new', 'Valid');
    await press('Submit');
    await shows('9 trials of 3 cells');
    await press('Submit');
    await shows('my-first-matrix is submitted');
    expect(sessionStorage.getItem('locus.draft.')).toBeNull();
    expect(location.pathname).toBe('/experiments/my-first-matrix');
    expect(posts().filter((each) => each === 'POST /experiments')).toHaveLength(1);
  });
  test('an identifier is put into the text', async () => {
    serve();
    await open('/new', 'What it can name');
    await vi.waitFor(() => expect(document.querySelector('.ingredient')).not.toBeNull());
    editor().setSelectionRange(0, 0);
    await press('Insert guidance');
    expect(editor().value.startsWith('guidance')).toBe(true);
  });
  test('a draft survives leaving the page', async () => {
    serve();
    await open('/new', 'Valid');
    await type(editor(), 'version: 1\nname: kept\n');
    await open('/workers', 'workstation');
    await open('/new', 'Valid');
    expect(editor().value).toContain('name: kept');
  });
});

test('cells picked in the leaderboard lead to their comparison', async () => {
  serve();
  await open('/experiments/fashion-mnist-priors', 'Pick cells to compare');
  const pick = async (label: string) =>
    act(() =>
      document.querySelector<HTMLInputElement>(`input[aria-label="Pick ${label} to compare"]`)!.click(),
    );
  await pick('none');
  await pick('guidance');
  await shows('Compare 2');
  expect(new URLSearchParams(location.search).get('cells')).toBe('0,5');
  const link = [...document.querySelectorAll('a')].find((each) => each.textContent!.includes('Compare 2'))!;
  expect(decodeURIComponent(link.search)).toBe(
    '?of=fashion-mnist-priors/cells/0,fashion-mnist-priors/cells/5',
  );
});

test('the list of experiments is one request', async () => {
  serve();
  await open('/experiments', 'learned-absolute + violin');
  expect(asked.filter((each) => each.includes('/experiments'))).toEqual(['GET /experiments?page_size=50']);
});

test('columns are hidden from the address', async () => {
  serve();
  await open('/experiments?hide=best,created', 'rope-base-frequency');
  const heads = [...document.querySelectorAll('thead th')].map((cell) => cell.textContent);
  expect(heads).not.toContain('Best');
  expect(heads).toContain('Owner');
});

test('the slash key goes to the search field', async () => {
  serve();
  await open('/experiments', 'rope-base-frequency');
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true }));
  expect(document.activeElement!.getAttribute('aria-label')).toBe('Find experiments');
});
