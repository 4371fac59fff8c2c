// The leaderboard of a matrix with another factor beside the prior: every row against its own baseline.
import { render, type VNode } from 'preact';
import { expect, test } from 'vitest';
import { answer } from '../../../../dev/mock-world.mjs';
import { Table } from '@/shared/api/messages';
import { leaderboardColumns, rankRows } from './columns';

const whole = Table(answer('/experiments/fashion-mnist-priors/table', new URLSearchParams(), 60), '');
const table = {
  ...whole,
  baseline: 'none, same train.lr',
  rows: whole.rows.slice(0, 2).map((row, i) => ({
    ...row,
    baseline: false,
    baseline_label: i === 0 ? 'none, lr=0.001' : 'none, lr=0.003',
    baseline_mean: i === 0 ? row.ci_low : row.ci_high,
    times_vary: i === 1,
  })),
};
const columns = leaderboardColumns(table, new Set(), () => {});

function drawn(id: string, row: number): HTMLElement {
  const cell = columns.find((each) => each.id === id)!.cell as (context: object) => VNode;
  const box = document.createElement('div');
  render(cell({ row: { original: rankRows(table)[row]! } }), box);
  return box;
}

test('the dotted line of a row is at the mean of the baseline it is compared with', () => {
  const line = (row: number) =>
    Number(drawn('interval', row).querySelector('.interval-reference')!.getAttribute('x1'));
  expect(line(0)).not.toBe(line(1));
  expect(drawn('difference', 1).querySelector('[title]')!.getAttribute('title')).toBe('from none, lr=0.003');
});

test('the heading says what is the same beside the baseline', () => {
  const box = document.createElement('div');
  const heading = columns.find((each) => each.id === 'difference')!.header as () => VNode;
  render(heading(), box);
  expect(box.textContent).toContain('vs none, same train.lr');
});

test('times that vary between the seeds carry a mark', () => {
  expect(drawn('speed', 0).textContent).not.toContain('†');
  expect(drawn('speed', 1).textContent).toContain('†');
});
