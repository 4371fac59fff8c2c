import { type ComponentChildren, render } from 'preact';
import { expect, test } from 'vitest';
import { Plan } from '@/shared/api/messages';
import { print } from '../../../dev/described.mjs';
import {
  differingCosts,
  historyText,
  Preview,
  rangeText,
  rungTexts,
  searchText,
  timeText,
  workText,
} from './preview';

const schema = { $ref: '#/components/schemas/Plan' };
const cell = (label: string, parameters: number, seconds?: number) => ({
  label,
  trials: 3,
  stages_to_run: 3,
  parameters,
  memory_bytes: 2147483648,
  ...(seconds === undefined ? {} : { compute_seconds: seconds }),
});
const planned = (changes: object = {}) =>
  Plan(
    print(
      schema,
      {
        name: 'mine',
        cells: 2,
        trials: 6,
        stages_to_run: 6,
        cell_list: [cell('none', 218250, 60), cell('violin', 219274, 60)],
        kinds: [{ kind: 'train', total: 6, to_run: 6 }],
        parameters: { least: 218250, most: 219274 },
        prior_parameters: { least: 0, most: 1024 },
        memory_bytes: { least: 2147483648, most: 2147483648 },
        compute_seconds: 120,
        wall_seconds: 60,
        free_slots: 2,
        history: [{ kind: 'train', basis: 'same-setting', device: 'cpu', runs: 5, stages: 6 }],
        ...changes,
      },
      '',
    ),
    '',
  );

function shown(element: ComponentChildren): string {
  const root = document.createElement('div');
  render(element, root);
  return root.querySelector('.plan-costs')!.textContent;
}

test('a range is one number where all cells agree', () => {
  expect(rangeText({ least: 1, most: 4 }, String)).toBe('1–4');
  expect(rangeText({ least: 4, most: 4 }, String)).toBe('4');
});

test('what a time is known from is named', () => {
  const one = { kind: 'train', basis: 'same-size', device: 'cuda', runs: 1, stages: 1 };
  expect(historyText(one)).toBe('train: 1 stage by 1 run of other settings of this size on cuda');
  expect(historyText({ ...one, basis: 'same-setting', runs: 5, stages: 6 })).toBe(
    'train: 6 stages by up to 5 runs of the same setting on cuda',
  );
});

test('how long one waits is said only where it is known', () => {
  expect(timeText(planned())).toBe('2 min 00 s of computing, 1 min 00 s on the 2 slots that are free now');
  expect(timeText(planned({ wall_seconds: undefined }))).toBe('2 min 00 s of computing');
  expect(timeText(planned({ compute_seconds: undefined }))).toBe('');
});

test('only costs that differ between cells get a column', () => {
  expect(differingCosts(planned()).map(({ title }) => title)).toEqual(['Parameters']);
  const apart = planned({ cell_list: [cell('none', 5, 60), cell('violin', 5, 90)] });
  expect(differingCosts(apart).map(({ title }) => title)).toEqual(['Time']);
});

test('the preview shows parameters, memory and time, or that the time is not known', () => {
  const text = shown(<Preview plan={planned()} />);
  expect(text).toContain('Parameters218k–219k, the priors’ own 0–1.02k');
  expect(text).toMatch(/Memoryabout 2.*GiB a training/);
  expect(text).toContain('train: 6 stages by up to 5 runs of the same setting on cpu');
  const unknown = planned({ compute_seconds: undefined, history: [], stages_without_history: 6 });
  expect(shown(<Preview plan={unknown} />)).toContain('not known: no stage of this size has run here');
});

test('a prior that is not counted is named', () => {
  const uncounted = [{ ...cell('violin', 218250), uncounted_priors: ['violin'] }];
  const plan = planned({ cell_list: uncounted, prior_parameters: undefined });
  expect(shown(<Preview plan={plan} />)).toContain('218k–219k, without those of violin');
});

const halving = {
  propose: 'sobol',
  advance: 'halve',
  resource: 'epochs',
  unit: 'cell',
  groups: 2,
  shared: true,
  proposals: 8,
  decides: true,
  units: 16,
  brackets: [
    {
      rungs: [
        { rung: 1, least: 16, most: 16 },
        { rung: 9, least: 3, most: 4 },
      ],
    },
  ],
  least_trainings: 48,
  most_trainings: 48,
  least_epochs: 120,
  most_epochs: 144,
  parked: 48,
  parked_bytes: 1000,
};
const searched = (changes: object = {}) => planned({ search: { ...halving, ...changes } }).search!;

test('a search says what it proposes, its rungs and its work', () => {
  expect(searchText(searched())).toBe('sobol, 8 proposals, the same for all 2 groups');
  expect(searchText(searched({ shared: false }))).toBe('sobol, 8 proposals, drawn for each of 2 groups');
  expect(searchText(searched({ propose: 'external' }))).toBe('proposals of a client, 8 at most');
  expect(rungTexts(searched())).toEqual(['16 cells to 1 epochs, 3–4 to 9']);
  expect(rungTexts(searched({ advance: 'none' }))).toEqual([]);
  expect(workText(searched())).toMatch(/^48 trainings, 120–144 epochs; at most 48 checkpoints parked, about /);
  expect(workText(searched({ parked: 0 }))).toBe('48 trainings, 120–144 epochs');
});

test('a search that decides nothing promises no rungs', () => {
  const text = shown(<Preview plan={planned({ search: { ...halving, advance: 'none', decides: false } })} />);
  expect(text).toContain('every proposal is trained to its end');
  expect(text).not.toContain('parked');
  expect(shown(<Preview plan={planned()} />)).not.toContain('Search');
});
