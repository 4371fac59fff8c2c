// Figures: the front, scatter and parallel coordinates from a table, their files.
import { describe, expect, test } from 'vitest';
import { act as perform } from '../../../../dev/mock-world.mjs';
import { PaperTable } from '@/shared/api/messages';
import { svgOf } from '@/shared/charts/figure';
import { axisOf, meets } from '@/shared/charts/parallel-plot';
import { frontCorners, paretoFront } from '@/shared/charts/pareto';
import { csvOf } from '@/shared/csv';
import {
  axisName,
  directionOf,
  numericFactors,
  parallelCsv,
  parallelOf,
  scatterCsv,
  scatterOf,
} from './figure-data';
import { required } from './figures';

const table = PaperTable(
  perform(
    '/paper-table',
    new URLSearchParams(),
    {
      experiments: ['fashion-mnist-priors'],
      rows: ['prior', 'resolution'],
      metrics: [{ metric: 'top1' }, { metric: 'ms_per_step' }],
    },
    60,
  ),
  '',
);

describe('the Pareto front', () => {
  const cheapGood = { x: 'min', y: 'max' } as const;
  const at = (x: number, y: number) => ({ x, y });
  test('is what nothing beats in both directions', () => {
    const points = [at(1, 10), at(2, 20), at(2, 15), at(3, 18), at(4, 30)];
    expect(paretoFront(points, cheapGood)).toEqual([0, 1, 4]);
    expect(paretoFront(points, { x: 'max', y: 'max' })).toEqual([4]);
    expect(paretoFront(points, { x: 'min', y: 'min' })).toEqual([0]);
  });
  test('holds equal points together and leaves out what has no place', () => {
    expect(paretoFront([at(1, 1), at(1, 1), at(NaN, 99), at(0, Infinity)], cheapGood)).toEqual([0, 1]);
  });
  test('no point of it is beaten and every other is, whatever the points', () => {
    let state = 7;
    const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
    const points = Array.from({ length: 200 }, () =>
      at(Math.round(20 * random()), Math.round(20 * random())),
    );
    const front = new Set(paretoFront(points, cheapGood));
    const beats = (a: { x: number; y: number }, b: { x: number; y: number }) =>
      a.x <= b.x && a.y >= b.y && (a.x < b.x || a.y > b.y);
    points.forEach((point, i) => {
      expect(points.some((other) => beats(other, point))).toBe(!front.has(i));
    });
  });
  test('its line turns at right angles', () => {
    expect(frontCorners([at(1, 10), at(2, 20)], [0, 1])).toEqual([at(1, 10), at(2, 10), at(2, 20)]);
  });
});

describe('a scatter', () => {
  test('has a point per row with the means of both metrics and the better directions', () => {
    const { points, directions } = scatterOf(table, 'ms_per_step', 'top1');
    expect(points).toHaveLength(table.rows.length);
    expect(points[0]).toMatchObject({
      x: table.cells[1]!.mean,
      y: table.cells[0]!.mean,
      low: table.cells[0]!.low,
    });
    expect(directions).toEqual({ x: 'min', y: 'max' });
    expect(directionOf({ metric: 'images_per_second', direction: '' })).toBe('max');
  });
  test('may stand against a factor that is a number', () => {
    expect(numericFactors(table)).toEqual(['resolution']);
    expect([axisName(table, 'ms_per_step'), axisName(table, 'resolution')]).toEqual([
      'ms_per_step (ms)',
      'resolution',
    ]);
    expect(scatterOf(table, 'resolution', 'top1').points[1]!.x).toBe(42);
  });
  test('is a file with every number as computed', () => {
    const scatter = scatterOf(table, 'ms_per_step', 'top1');
    const lines = scatterCsv(scatter, 'ms_per_step', 'top1', new Set([0]))
      .trimEnd()
      .split('\r\n');
    expect(lines[0]).toBe('row,ms_per_step,top1,top1_low,top1_high,on_front');
    expect(lines[1]).toContain(String(scatter.points[0]!.y));
    expect(lines[1]!.endsWith('true')).toBe(true);
  });
});

describe('parallel coordinates', () => {
  test('order names as they come and place numbers at their value', () => {
    expect(axisOf('lr', ['0.1', '3']).values).toEqual([0.1, 3]);
    expect(axisOf('prior', ['b', 'a', 'b'])).toEqual({
      axis: { name: 'prior', better: 'max', names: ['b', 'a'] },
      values: [0, 1, 0],
    });
  });
  test('have an axis per factor and metric and a line per row', () => {
    const { axes, lines } = parallelOf(table);
    expect(axes.map((axis) => axis.name)).toEqual(['prior', 'resolution', 'top1 (%)', 'ms_per_step (ms)']);
    expect(lines).toHaveLength(table.rows.length);
    expect(parallelCsv({ axes, lines }).split('\r\n')[1]).toContain('none,28,');
  });
  test('a line without the value required does not meet it', () => {
    const line = { look: null, label: '', values: [1, NaN] };
    expect(meets(line, new Map([[0, [0, 2]]]))).toBe(true);
    expect(meets(line, new Map([[1, [0, 2]]]))).toBe(false);
  });
});

describe('what is required', () => {
  test('is at most where less is better, at least where more is', () => {
    expect(
      parallelOf(table)
        .axes.slice(2)
        .map((axis) => axis.better),
    ).toEqual(['max', 'min']);
    expect(required(8.2, 'min', [8, 9])).toEqual([-Infinity, 8.2]);
    expect(required(8.2, 'max', [8, 9])).toEqual([8.2, Infinity]);
  });
  test('is nothing where every row meets it', () => {
    expect(required(9, 'min', [8, 9])).toBeNull();
    expect(required(8, 'max', [8, 9])).toBeNull();
  });
});

test('a figure of the page becomes a file of its own, with its legend and without the screen’s classes', () => {
  document.body.innerHTML =
    '<div><svg class="figure" width="100" height="50"><g class="x" tabindex="0"><path d="M0 0L9 9"/></g>' +
    '<text class="tick">a &amp; b</text></svg></div>';
  const legend = [{ look: { hue: 0, variant: 0 }, label: 'none & more' }];
  const svg = svgOf(document.querySelector('svg')!, { title: 'x < y', legend, yName: 'top1 (%)' });
  const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml');
  expect(parsed.querySelector('parsererror')).toBeNull();
  expect(parsed.querySelector('title')!.textContent).toBe('x < y');
  expect(svg).toContain('none &amp; more');
  expect(svg).toContain('top1 (%)');
  expect(Number(parsed.documentElement.getAttribute('width'))).toBeGreaterThan(100); // room for the axis' name
  expect(svg).not.toMatch(/class=|tabindex=/);
  expect(Number(parsed.documentElement.getAttribute('height'))).toBeGreaterThan(50);
  expect(document.querySelectorAll('svg')).toHaveLength(1); // the copy is gone
  document.body.innerHTML = '';
});

test('CSV quotes what needs it and leaves unknown numbers as they are', () => {
  expect(
    csvOf(
      ['a', 'b'],
      [
        ['x,y', NaN],
        [undefined, true],
      ],
    ),
  ).toBe('a,b\r\n"x,y",NaN\r\n,true\r\n');
});
