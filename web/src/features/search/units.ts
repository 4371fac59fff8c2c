// What a page says of the units of a search: their values, settings and states.
import type { SearchPhase, SearchUnit } from '@/shared/api/messages';
import { apart, type Look } from '@/shared/palette';
import { undefinedMark } from '@/shared/format';

// Where a unit stands, in the order of lists.
export const unitStates = ['running', 'parked', 'waiting', 'finished', 'stopped', 'failed'] as const;

export type Values = Readonly<Record<string, unknown>>;

// The settings that a unit has; empty where the text is none.
export function valuesOf(unit: Pick<SearchUnit, 'values_json'>): Values {
  try {
    const read: unknown = JSON.parse(unit.values_json || '{}');
    return typeof read === 'object' && read !== null ? (read as Values) : {};
  } catch {
    return {};
  }
}

// As people write it: no zeros at the end, which would claim digits that nobody gave.
export const plainNumber = (value: number, digits = 6) => String(Number(value.toPrecision(digits)));

export function settingText(value: unknown): string {
  if (value === undefined) return undefinedMark;
  if (typeof value === 'number') return plainNumber(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

// At a rung; null: the latest there is. NaN without, or where it failed there.
export function scoreOf(unit: Pick<SearchUnit, 'scores'>, rung: number | null): number {
  const found =
    rung === null ? unit.scores[unit.scores.length - 1] : unit.scores.find((s) => s.rung === rung);
  return found?.value ?? NaN;
}

// The rungs at which units have values, from the first.
export const rungsOf = (phase: Pick<SearchPhase, 'units' | 'brackets'>): number[] => {
  const rungs = phase.brackets.flatMap((bracket) => bracket.rungs.map((rung) => rung.rung));
  return [...new Set(rungs)].sort((a, b) => a - b);
};

// "epoch 9", "9 seeds": where a rung is.
export const rungText = (resource: string, rung: number) =>
  resource === 'seeds' ? `${rung} ${rung === 1 ? 'seed' : 'seeds'}` : `epoch ${rung}`;

// The ladder that a unit climbs: a race is one for each group.
export const bracketOf = (phase: Pick<SearchPhase, 'advance'>, unit: SearchUnit) =>
  phase.advance === 'race' ? unit.group : unit.bracket;

// The rung that a unit was sent to last; empty: to none.
export function sentText(
  phase: Pick<SearchPhase, 'brackets' | 'resource' | 'advance'>,
  unit: SearchUnit,
): string {
  const rung = unit.rung < 0 ? undefined : phase.brackets[bracketOf(phase, unit)]?.rungs[unit.rung];
  return rung ? rungText(phase.resource, rung.rung) : '';
}

export const isGray = (unit: Pick<SearchUnit, 'state'>) =>
  unit.state === 'parked' || unit.state === 'stopped' || unit.state === 'failed';

export const canStop = (unit: Pick<SearchUnit, 'state'>) =>
  unit.state === 'running' || unit.state === 'waiting' || unit.state === 'parked';
export const canGoOn = (unit: Pick<SearchUnit, 'state'>) =>
  unit.state === 'stopped' || unit.state === 'parked';

// The looks of the groups: that of one of its cells, as every page draws it; in turn where no cell is known.
export function groupLooks(
  phase: Pick<SearchPhase, 'groups' | 'units'>,
  cells: readonly { cell: number; look: Look | null }[],
): Look[] {
  const looks = new Map(cells.map(({ cell, look }) => [cell, look]));
  const found = phase.groups.map((_, group) => {
    const unit = phase.units.find((each) => each.group === group && looks.get(each.cell));
    const look = unit && looks.get(unit.cell);
    return look ? { hue: look.hue, variant: 0 } : { hue: group, variant: 0 };
  });
  return apart(found);
}

// Without a group of its own, a unit is named by its proposal alone.
export const unitName = (phase: Pick<SearchPhase, 'groups'>, unit: SearchUnit) =>
  phase.groups.length > 1 ? `${phase.groups[unit.group] ?? ''} #${unit.proposal}` : `#${unit.proposal}`;
