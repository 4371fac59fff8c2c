// The axes of a space, what a brush leaves, and how a search's values become strokes.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { answerAs, print } from '../../../dev/described.mjs';
import { decisionsMessage, searchMessage } from '../../../dev/mock-search.mjs';
import { answer } from '../../../dev/mock-world.mjs';
import { BestSoFar, Curves, Search, SearchPhase } from '@/shared/api/messages';
import { lookOf } from '@/shared/charts/curve-paint';
import { bestAt, bestPlot, coursePlot, curvesMost, stairs } from './course';
import { decisionReader } from './data';
import { outcomeAt, unitsAt } from './ladder';
import { phaseShown } from './search-page';
import { axesOf, brushed, linesOf, marksOf, nearestLine, placeOn, stepOf, textAt, within } from './space';
import { linePath, movedBy } from './space-plot';
import { groupLooks, scoreOf } from './units';

afterEach(() => void vi.unstubAllGlobals());

const path = '/experiments/tuned-priors/search';
const searchOf = (proposals: number) =>
  Search(answerAs('GET', path, searchMessage('tuned-priors', proposals)), '');
const phaseOf = (proposals: number): SearchPhase => searchOf(proposals).phases[0]!;
const phase = phaseOf(16); // 32 units

const log = { name: 'lr', kind: 'log', low: 1e-4, high: 1e-2, choices: [] };
const int = { name: 'depth', kind: 'int', low: 2, high: 6, choices: [] };
const choice = { name: 'batch', kind: 'choice', low: 0, high: 0, choices: ['32', '64', '128'] };

describe('an axis', () => {
  test('gives equal room to equal factors where it is logarithmic', () => {
    expect(placeOn(log, 1e-3)).toBeCloseTo(0.5, 12);
    expect(textAt(log, 0.5)).toBe('0.001');
    expect(marksOf(log).map(({ text }) => text)).toContain('0.001');
  });
  test('of whole numbers has marks at whole numbers only', () => {
    expect(marksOf(int).map(({ text }) => text)).toEqual(['2', '3', '4', '5', '6']);
    expect(textAt(int, 0.3)).toBe('3');
    expect(stepOf(int)).toBe(0.25);
  });
  test('of choices has them side by side, by their text', () => {
    expect([32, '64', 128].map((value) => placeOn(choice, value))).toEqual([0, 0.5, 1]);
    expect(placeOn({ ...choice, choices: ['adamw', '[1,2]'] }, [1, 2])).toBe(1);
    expect(placeOn({ ...choice, choices: ['1e-05', '0.1'] }, 0.00001)).toBe(0);
    expect(stepOf(choice)).toBe(0.5);
  });
  test.each([undefined, NaN, 'wide', null])('has no place for %s', (value) => {
    expect(placeOn(log, value)).toBeNaN();
    expect(placeOn(int, value)).toBeNaN();
  });
  test('of values has room for every unit', () => {
    const axes = axesOf(phase, null);
    expect(axes.map((axis) => axis.name)).toEqual([...phase.space.map((each) => each.path), 'top1']);
    const places = linesOf(phase, axes, null).map((line) => line.places[4]!);
    for (const place of places.filter(Number.isFinite)) expect(Math.abs(place - 0.5)).toBeLessThan(0.5);
    expect(places.some(Number.isNaN)).toBe(true); // diverged
  });
  test('stands where no unit has a value', () => {
    const none = { ...phase, units: phase.units.map((unit) => ({ ...unit, scores: [] })) };
    expect(axesOf(none, null)[4]).toMatchObject({ low: 0, high: 1 });
  });
});

describe('a brush', () => {
  const line = { unit: 0, group: 0, places: [0.2, 0.8, NaN] };
  test('holds what lies between its ends, and no unit without a value', () => {
    expect(within(line, new Map())).toBe(true);
    expect(within(line, new Map([[0, [0.2, 0.4]]]))).toBe(true);
    expect(within(line, new Map([[1, [0, 0.5]]]))).toBe(false);
    expect(within(line, new Map([[2, [0, 0.5]]]))).toBe(false);
  });
  test('over the whole of an axis is none', () => {
    expect([...brushed(new Map(), 1, 0.7, 0.2)]).toEqual([[1, [0.2, 0.7]]]);
    expect(brushed(new Map([[1, [0.2, 0.7]]]), 1, 0, 1).size).toBe(0);
  });
  test('is moved by the keys of a slider', () => {
    expect(movedBy('ArrowUp', 0.5, 0.1)).toBeCloseTo(0.6);
    expect(movedBy('PageDown', 0.4, 0.1)).toBe(0);
    expect(movedBy('End', 0.4, 0.1)).toBe(1);
    expect(movedBy('Tab', 0.4, 0.1)).toBeNull();
  });
  test('the pointer finds the nearest line between two axes', () => {
    const lines = [line, { unit: 1, group: 0, places: [0.9, 0.9, 0.1] }];
    expect(nearestLine(lines, 3, { x: 0.5, y: 0.52 }, 0.1)).toBe(0);
    expect(nearestLine(lines, 3, { x: 1.5, y: 0.5 }, 0.1)).toBe(1); // the other has no value there
    expect(nearestLine(lines, 3, { x: 0.5, y: 0.7 }, 0.1)).toBe(-1);
  });
  test('lines break where there is no value', () =>
    expect(linePath(line, (axis) => 100 * axis).match(/[ML]/g)).toEqual(['M', 'L']));
});

describe('rungs', () => {
  test('list those that went on first, then by value, failed ones last', () => {
    const outcomes = unitsAt(phase, 0, 0).map((unit) => outcomeAt(unit, 0));
    expect(outcomes).toHaveLength(32);
    expect(outcomes.lastIndexOf('advanced')).toBe(15);
    expect(outcomes[outcomes.length - 1]).toBe('failed');
    const advanced = unitsAt(phase, 0, 0)
      .slice(0, 16)
      .map((unit) => scoreOf(unit, 3));
    expect(advanced).toEqual([...advanced].sort((a, b) => b - a));
  });
  test('of a race are climbed by each group for itself', () => {
    const rungs = phase.brackets[0]!.rungs;
    const race = { ...phase, advance: 'race', brackets: [{ rungs }, { rungs }] };
    for (const group of [0, 1])
      expect(new Set(unitsAt(race, group, 0).map((unit) => unit.group))).toEqual(new Set([group]));
  });
  test('a smaller value is first where smaller is better', () => {
    const units = unitsAt({ ...phase, direction: 'min' }, 0, 0).slice(0, 16);
    const values = units.map((unit) => scoreOf(unit, 3));
    expect(values).toEqual([...values].sort((a, b) => a - b));
  });
});

describe('curves', () => {
  const look = { hue: 3, variant: 0 };
  const curves = Curves(
    answer('/experiments/tuned-priors/curves', new URLSearchParams('metric=top1'), 24),
    '',
  );
  const small = phaseOf(8);
  test('of parked and stopped units are gray and behind, each in a way of its own', () => {
    const plot = coursePlot(small, curves, [look, look], new Set());
    const gray = plot.strokes.filter((stroke) => stroke.look === null);
    const colored = plot.strokes.filter((stroke) => stroke.look !== null);
    expect(plot.strokes.indexOf(colored[0]!)).toBe(gray.length);
    for (const stroke of plot.strokes) {
      const { state } = small.units[stroke.cell]!;
      expect(stroke.kind).toBe({ parked: 'partial', stopped: 'run', failed: 'run' }[state] ?? 'mean');
    }
    const dashOf = (kind: string) => lookOf(gray.find((each) => each.kind === kind)!, new Map(), null).dash;
    expect(dashOf('partial')).not.toEqual(dashOf('run'));
  });
  test('of trials are drawn one by one where trials are judged', () => {
    const units = curves.trials
      .slice(0, 3)
      .map((curve, i) => ({ ...small.units[i]!, trials: [curve.trial] }));
    const plot = coursePlot({ ...small, unit: 'trial', units }, curves, [look], new Set([1]));
    expect(plot.strokes.map((stroke) => stroke.cell)).toEqual(
      units.flatMap((unit, i) => (unit.group === 1 ? [] : [i])),
    );
  });
  test('of rungs that train anew are one for each of them', () => {
    const [first, second] = curves.cells;
    const unit = { ...small.units[0]!, cell: first!.cell, cells: [first!.cell, second!.cell] };
    const plot = coursePlot({ ...small, units: [unit] }, curves, [look, look], new Set());
    const once = coursePlot({ ...small, units: [{ ...unit, cells: [] }] }, curves, [look, look], new Set());
    expect(new Set(plot.strokes.map((stroke) => stroke.cell))).toEqual(new Set([0]));
    expect(plot.strokes.length).toBe(2 * once.strokes.length);
  });
  test('of two thousand units are those that went furthest', () => {
    const many = phaseOf(1000);
    const cells = many.units.map((unit) => ({ ...curves.cells[0]!, cell: unit.cell }));
    const plot = coursePlot(many, { ...curves, cells }, [look, look], new Set());
    const drawn = new Set(plot.strokes.map((stroke) => stroke.cell));
    expect(drawn.size).toBe(curvesMost);
    expect(Math.min(...[...drawn].map((unit) => many.units[unit]!.rung))).toBe(2);
  });
  test('groups look as their cells do on every page', () => {
    const cells = [{ cell: small.units[1]!.cell, look: { hue: 7, variant: 4 } }];
    expect(groupLooks(small, cells)).toEqual([
      { hue: 0, variant: 0 },
      { hue: 7, variant: 0 },
    ]);
  });
});

describe('the best so far', () => {
  const best = BestSoFar(answer('/experiments/tuned-priors/search/best', new URLSearchParams(), 24), '');
  test('stays what it is until a better one comes', () => {
    expect(stairs([3, 9], [70, 76])).toEqual({ x: [3, 9, 9], y: [70, 70, 76] });
    const plot = bestPlot(best, new Map());
    expect(plot.x).toEqual([3, 51]);
    expect(plot.strokes.map((stroke) => stroke.label)).toEqual(best.curves.map((curve) => curve.group));
  });
  test('is read at what was spent, with its trial', () => {
    expect(bestAt(best.curves[0]!, 10)).toEqual({ value: 76.4, trial: 2 });
    expect(bestAt(best.curves[0]!, null)).toEqual({ value: 83.1, trial: 4 });
    expect(bestAt(best.curves[0]!, 1)).toBeNull();
  });
  test('of nothing is nothing', () => {
    expect(bestPlot({ ...best, curves: [] }, new Map()).x).toBeNull();
    expect(stairs([], [])).toEqual({ x: [], y: [] });
  });
});

test('the phase shown is the one asked for, else the last that has begun', () => {
  const { phases } = searchOf(8);
  expect(phaseShown(phases, '')?.name).toBe('tune');
  expect(phaseShown(phases, 'final')?.name).toBe('tune'); // it waits
  const both = phases.map((phase) => ({ ...phase, state: 'ended' }));
  expect(phaseShown(both, '')?.name).toBe('final');
  expect(phaseShown(both, 'tune')?.name).toBe('tune');
  expect(phaseShown(phases, 'no such')?.name).toBe('tune');
  expect(phaseShown([], '')).toBeUndefined();
});

test('the log is read page by page, and then only what has come since', async () => {
  let known = 20;
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (input: string) => {
    const query = new URL(input, 'http://localhost').searchParams;
    asked.push(query.get('after')!);
    const all = decisionsMessage(new URLSearchParams({ page_size: '1000' })).decisions.slice(0, known);
    const left = (all as { number: number }[]).filter(({ number }) => number > Number(query.get('after')));
    const page = { decisions: left.slice(0, 8), more: left.length > 8 };
    return Response.json(print({ $ref: '/ListDecisionsResponse' }, page, 'log'));
  });
  const read = decisionReader('tuned-priors', 4);
  const signal = new AbortController().signal;
  expect((await read(signal)).map((each) => each.number)).toEqual(
    Array.from({ length: 16 }, (_, i) => i + 5),
  );
  known = 22;
  expect((await read(signal)).map((each) => each.number).slice(-2)).toEqual([21, 22]);
  expect(asked).toEqual(['4', '12', '20']);
});
