// The page of a search: what it says of rungs, units, choices and decisions, and what a person decides there.
import axe from 'axe-core';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { answerAs } from '../../../dev/described.mjs';
import { searchMessage } from '../../../dev/mock-search.mjs';
import { asked, open, press, serve, shows, type } from '@/test-world';
import { startRouter } from '@/shared/router';

const path = '/experiments/tuned-priors/search';
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

const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)];
const posts = () => asked.filter((each) => each.startsWith('POST'));
// The page of a search that differs from the mock's; `change` has the server's message.
const changed = (change: (search: any) => unknown) =>
  serve((at, body) => (at === path ? change(body) : body));
const handle = (name: string) => document.querySelector<SVGElement>(`[role=slider][aria-label="${name}"]`)!;
const strike = (target: Element, key: string) =>
  act(
    () => void target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })),
  );

describe('the ladder', () => {
  test('counts who was sent, is there, went on and fell at every rung', async () => {
    serve();
    await open(path, '8 advanced');
    const rungs = all('.rung').map((rung) => rung.querySelector('.rung-head')!.textContent);
    expect(rungs).toEqual([
      expect.stringMatching(/^epoch 316 sent1[0-6] there8 advanced\d+ stopped\d+ failed$/),
      expect.stringMatching(/^epoch 98 sent8 there4 advanced/),
      expect.stringMatching(/^epoch 274 sent/),
    ]);
  });
  test('has a mark for each unit that says what became of it and leads to its trial', async () => {
    serve();
    await open(path, '8 advanced');
    const marks = all('.rung')[0]!.querySelectorAll('a');
    expect(marks).toHaveLength(16);
    expect(marks[0]!.getAttribute('aria-label')).toMatch(
      /^(none|learned-absolute \+ violin) #\d, advanced, top1 /,
    );
    expect(marks[0]!.getAttribute('href')).toMatch(/^\/experiments\/tuned-priors\/trials\/\d+$/);
    const shapes = new Set([...marks].map((mark) => mark.querySelector('path')!.getAttribute('d')));
    expect(shapes.size).toBe(4); // advanced, parked, stopped, failed: never by color alone
  });
  test('of a phase without rungs says so', async () => {
    changed((search) => ({
      ...search,
      phases: [{ ...search.phases[0], advance: 'none', brackets: [] }],
    }));
    await open(path, 'There are no rungs: every unit goes to the end at once.');
  });
});

describe('two thousand units', () => {
  const many = () => changed(() => answerAs('GET', path, searchMessage('tuned-priors', 1000)));
  test('are a few hundred elements', async () => {
    many();
    await open(path, '2000 sent');
    await shows('What matters');
    await vi.waitFor(() => expect(all('table.units tbody tr').length).toBeGreaterThan(5));
    expect(all('table.units tbody tr').length).toBeLessThan(60);
    expect(all('.rung a')).toHaveLength(0);
    expect(all('.rung-field path').length).toBeLessThan(20);
    expect(all('.space-lines').length).toBeLessThan(5);
    expect(document.querySelectorAll('*').length).toBeLessThan(2500);
  });
});

describe('brushing', () => {
  test('works by keys on every axis and narrows the list', async () => {
    serve();
    await open(path, 'Drag along an axis');
    const axes = ['train.batch', 'train.lr', 'model.depth', 'train.weight_decay', 'top1'];
    expect(all('[role=slider]').map((each) => each.getAttribute('aria-label'))).toEqual(
      axes.flatMap((axis) => [`${axis} at most`, `${axis} at least`]),
    );
    await strike(handle('train.batch at most'), 'ArrowDown');
    await shows('of 16 units are within the brushes');
    expect(handle('train.batch at most').getAttribute('aria-valuetext')).toBe('64');
    expect(all('table.units tbody tr').some((each) => / 128/.test(each.textContent!))).toBe(false);
    await strike(handle('train.batch at most'), 'Escape');
    await shows('Drag along an axis');
  });
  test('of a logarithmic axis reads in its own values', async () => {
    serve();
    await open(path, 'Drag along an axis');
    for (let i = 0; i < 25; i += 1) await strike(handle('train.lr at least'), 'ArrowUp');
    expect(handle('train.lr at least').getAttribute('aria-valuetext')).toBe('0.001');
    expect(handle('train.lr at least').getAttribute('tabindex')).toBe('0'); // a browser knows no other spelling
    await press('Clear brushes');
    expect(handle('train.lr at least').getAttribute('aria-valuetext')).toBe('0.0001');
  });
  test('leaves nothing where no unit fits, and says so', async () => {
    serve();
    await open(path, 'Drag along an axis');
    await strike(handle('train.lr at most'), 'Home');
    await strike(handle('train.weight_decay at least'), 'End');
    await shows('No unit is left by the brushes and the state chosen.');
  });
});

describe('a person', () => {
  const reasonField = () => document.querySelector<HTMLInputElement>('dialog input.input')!;
  const pick = (name: string) =>
    act(() => document.querySelector<HTMLInputElement>(`input[aria-label="Pick ${name}"]`)!.click());
  const parked = () =>
    all('table.units tbody tr')
      .find((each) => each.textContent!.includes('parked'))!
      .querySelector('input')!
      .getAttribute('aria-label')!
      .replace('Pick ', '');

  test('stops a unit only with a reason, which the server is told', async () => {
    const sent: unknown[] = [];
    serve();
    const mock = globalThis.fetch;
    vi.stubGlobal('fetch', (input: string, init?: RequestInit) => {
      if (init?.method === 'POST') sent.push(JSON.parse(String(init.body)));
      return mock(input, init);
    });
    await open(path, 'Pick units to stop them');
    await pick(parked());
    await press('Stop 1 unit');
    await shows('Stop 1 unit?');
    const go = all('dialog button').find((each) => each.textContent === 'Stop 1 unit') as HTMLButtonElement;
    expect(go.disabled).toBe(true);
    await type(reasonField(), ' overfits ');
    await press('Stop 1 unit');
    await shows('1 unit of tuned-priors stop');
    expect(posts()).toEqual(['POST /experiments/tuned-priors/search:stop']);
    expect(sent).toEqual([
      { trials: [expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/)], reason: 'overfits' },
    ]);
    await shows('Pick units to stop them');
  });
  test('lets a parked unit go on', async () => {
    serve();
    await open(path, 'Pick units to stop them');
    await pick(parked());
    await press('Continue 1 unit');
    await type(reasonField(), 'close call');
    await press('Let 1 unit go on');
    await shows('1 unit of tuned-priors go on');
    expect(posts()).toEqual(['POST /experiments/tuned-priors/search:continue']);
  });
  test('reads why the server refuses', async () => {
    serve((at, body) => (at.endsWith(':stop') ? { refused: 'the search has ended' } : body));
    await open(path, 'Pick units to stop them');
    await pick(parked());
    await press('Stop 1 unit');
    await type(reasonField(), 'x');
    await press('Stop 1 unit');
    await shows('the search has ended');
    expect(document.querySelector('dialog')).not.toBeNull();
  });
  test('does not stop what was picked and then brushed away', async () => {
    serve();
    await open(path, 'Pick units to stop them');
    await pick(parked());
    await shows('Stop 1');
    await strike(handle('train.lr at most'), 'Home');
    await strike(handle('train.weight_decay at least'), 'End');
    await shows('Pick units to stop them');
  });
});

describe('decisions', () => {
  test('stand newest last with time, rule and links; observations on wish', async () => {
    serve();
    await open(path, 'observations not shown');
    const told = all('.decision');
    expect(told[0]!.textContent).toContain('The search begins');
    expect(told[told.length - 1]!.textContent).toContain('4 of 8 go on to epoch 27');
    expect(told[told.length - 1]!.textContent).toContain('2026');
    expect(told[told.length - 1]!.querySelector('a')!.getAttribute('href')).toMatch(/trials\/\d+$/);
    await act(() => document.querySelector<HTMLInputElement>('.toolbar-quiet input[type=checkbox]')!.click());
    expect(all('.decision').length).toBeGreaterThan(40);
  });
  test('of a long log begin near its end; earlier ones on wish', async () => {
    changed((search) => ({ ...search, decided: '350' }));
    await open(path, '150 earlier decisions');
    expect(asked.some((each) => each.includes('/search/decisions?after=150'))).toBe(true);
    await press('Show 150 earlier');
    await vi.waitFor(() => expect(asked.some((each) => each.includes('decisions?after=0'))).toBe(true));
    await shows('The search begins');
  });
});

describe('what was chosen', () => {
  test('is told with value, margin, image error and the seeds that agreed', async () => {
    serve();
    await open(path, '1 of 2 put it first');
    const choice = document.querySelector('table.choices tbody tr')!.textContent!;
    for (const part of ['none', 'train.lr', '83.92', '0.2100', '± 0.37', 'within the image error'])
      expect(choice).toContain(part);
  });
  test('nobody, is said', async () => {
    changed((search) => {
      const [first, ...others] = search.phases;
      const choices = [{ ...first.choices[0], values_json: '', seeds: 0, agreed: 0 }];
      return { ...search, phases: [{ ...first, choices }, ...others] };
    });
    await open(path, 'nobody was left to choose');
  });
  test('the budget is told as spent and limit', async () => {
    serve();
    await open(path, '96 of 128');
    expect(document.querySelector('.budget [role=progressbar]')!.getAttribute('aria-valuemax')).toBe('128');
  });
});

describe('nothing to show', () => {
  test('an experiment without a search says how one is asked for', async () => {
    serve();
    const mock = globalThis.fetch;
    vi.stubGlobal('fetch', (input: string, init?: RequestInit) => {
      if (!input.includes('/search')) return mock(input, init);
      const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'SEARCH_NOT_FOUND' }];
      const error = { code: 404, status: 'NOT_FOUND', message: 'no search', details };
      return Promise.resolve(new Response(JSON.stringify({ error }), { status: 404 }));
    });
    expect(await open('/experiments/violin-sigma/search', 'No search here')).toContain('propose: sobol');
  });
  test('an unknown experiment is not found', async () => {
    serve();
    await open('/experiments/missing/search', 'Not found');
  });
  test('a search that has not begun says so', async () => {
    changed((search) => ({
      ...search,
      decided: '0',
      phases: search.phases.map((phase: any) => ({ ...search.phases[1], name: phase.name })),
    }));
    await open(path, 'The search has not begun');
    // What the server refuses before anything has begun is not asked for.
    expect(asked.filter((each) => /search\/|curves/.test(each))).toEqual([]);
  });
  test('a search without a proposal yet says so', async () => {
    changed((search) => ({ ...search, phases: [{ ...search.phases[0], units: [] }] }));
    await open(path, 'Nothing has been proposed yet.');
  });
  test('a search that ended with no unit says so', async () => {
    changed((search) => ({
      ...search,
      state: 'ended',
      reason: 'the budget was spent',
      phases: [{ ...search.phases[0], state: 'ended', units: [] }],
    }));
    const text = await open(path, 'The search ended with no unit');
    expect(text).toContain('the budget was spent');
    expect(text).toContain('The phase ended without a unit.');
  });
  test('an answer that lacks a field is refused by its name', async () => {
    changed((search) => {
      const { rung: _, ...unit } = search.phases[0].units[0];
      return { ...search, phases: [{ ...search.phases[0], units: [unit] }] };
    });
    await open(path, 'phases[0].units[0].rung: expected an integer, found nothing');
  });
});

// The colors of both themes are looked at by the journeys in a browser: jsdom computes none.
test('nothing on the page is beyond those who cannot see or point', { timeout: 60_000 }, async () => {
  document.documentElement.lang = 'en';
  serve();
  await open(path, 'rule halve');
  await shows('What matters');
  const { violations } = await axe.run(document.body, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'],
    rules: { 'color-contrast': { enabled: false } },
  });
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`)).toEqual([]);
});

test('the experiment leads to its search, and only where it has one', async () => {
  serve();
  await open('/experiments/tuned-priors', 'Leaderboard');
  await vi.waitFor(() => expect(all(`a[href="${path}"]`)).toHaveLength(1));
  await open('/experiments/violin-sigma', 'Leaderboard');
  await shows('violin-sigma');
  expect(all('a[href$="/search"]')).toHaveLength(0);
});

test('trials that a search holds are named so in the list of trials', async () => {
  serve();
  const text = await open('/experiments/tuned-priors?tab=trials', '32 trials');
  expect(text).toContain('parked');
  expect(text).toContain('stopped');
});
