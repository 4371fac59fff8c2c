// The ladder of a phase: its rungs, what came of those sent there, and a mark for each unit, which leads to its trial.
import type { SearchBracket, SearchPhase, SearchUnit } from '@/shared/api/messages';
import { count, plural, significant } from '@/shared/format';
import { hrefs } from '@/shared/hrefs';
import { navigate } from '@/shared/router';
import { useRef } from 'preact/hooks';
import { useWidth } from '@/shared/ui/hooks';
import { stateTone } from '@/shared/ui/parts';
import { bracketOf, rungText, scoreOf, unitName } from './units';

// What became of a unit at a rung it was sent to.
export type Outcome = 'advanced' | 'finished' | 'running' | 'parked' | 'waiting' | 'stopped' | 'failed';

export const outcomeAt = (unit: SearchUnit, rung: number): Outcome =>
  unit.rung > rung ? 'advanced' : (unit.state as Outcome);

// In the order in which marks are laid out: who went on first.
const outcomes: readonly Outcome[] = [
  'advanced',
  'finished',
  'running',
  'parked',
  'waiting',
  'stopped',
  'failed',
];
const toneOf = (outcome: Outcome) => (outcome === 'advanced' ? 'good' : stateTone(outcome));

const size = 12; // pixels of a mark with its room
const linksMost = 64; // of a rung; more are drawn as a field of one path for each outcome
const r = 4;

// A shape for each outcome, since color is never the only sign.
export function markPath(outcome: Outcome, x: number, y: number): string {
  switch (outcome) {
    case 'advanced': // a wedge upward
      return `M${x} ${y - r}L${x + r} ${y + r}H${x - r}Z`;
    case 'finished': // a full square
      return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`;
    case 'running': // a full circle
      return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
    case 'parked': // two bars
      return `M${x - 3} ${y - r}h2v${2 * r}h-2ZM${x + 1} ${y - r}h2v${2 * r}h-2Z`;
    case 'stopped': // a bar across
      return `M${x - r} ${y - 1.5}h${2 * r}v3h${-2 * r}Z`;
    case 'failed': // a cross
      return [
        `M${x - r} ${y - 3}l1.5 -1.5L${x} ${y - 1.5}l${r - 1.5} -3l1.5 1.5`,
        `L${x + 1.5} ${y}L${x + r} ${y + 3}l-1.5 1.5L${x} ${y + 1.5}`,
        `L${x - r + 1.5} ${y + 4.5}l-1.5 -1.5L${x - 1.5} ${y}Z`,
      ].join('');
    default: // waiting: a small diamond
      return `M${x} ${y - 3}l3 3l-3 3l-3 -3Z`;
  }
}

interface RungPlace {
  experiment: string;
  phase: SearchPhase;
  bracket: number;
  rung: number; // place
}

function saidOf({ phase, rung, bracket }: RungPlace, unit: SearchUnit): string {
  const at = phase.brackets[bracket]!.rungs[rung]!.rung;
  const value = scoreOf(unit, at);
  const parts = [unitName(phase, unit), outcomeAt(unit, rung)];
  if (Number.isFinite(value)) parts.push(`${phase.metric} ${significant(value, 4)}`);
  return parts.join(', ');
}

function MarkLinks({ place, units }: { place: RungPlace; units: readonly SearchUnit[] }) {
  return (
    <ul class="rung-marks">
      {units.map((unit) => {
        const outcome = outcomeAt(unit, place.rung);
        const said = saidOf(place, unit);
        const mark = (
          <svg width={size} height={size} aria-hidden="true" class={`rung-mark tone-${toneOf(outcome)}`}>
            <path d={markPath(outcome, size / 2, size / 2)} />
          </svg>
        );
        const trial = unit.trials[0];
        return (
          <li key={`${unit.group}/${unit.proposal}/${unit.cell}/${trial}`}>
            {trial === undefined ? (
              <span title={said}>{mark}</span>
            ) : (
              <a href={hrefs.trial(place.experiment, trial)} title={said} aria-label={said}>
                {mark}
              </a>
            )}
          </li>
        );
      })}
    </ul>
  );
}

// Many units: the marks of one outcome are one path, and the pointer finds the unit under it. By keyboard the list below
// leads to each.
function MarkField({ place, units }: { place: RungPlace; units: readonly SearchUnit[] }) {
  const box = useRef<HTMLDivElement>(null);
  const title = useRef<HTMLTitleElement>(null); // preact types every title as a page's
  const width = useWidth(box, 640);
  const across = Math.max(1, Math.floor(width / size));
  const rows = Math.ceil(units.length / across);
  const paths = new Map<Outcome, string[]>();
  units.forEach((unit, i) => {
    const outcome = outcomeAt(unit, place.rung);
    const [x, y] = [size * ((i % across) + 0.5), size * (Math.floor(i / across) + 0.5)];
    if (!paths.has(outcome)) paths.set(outcome, []);
    paths.get(outcome)!.push(markPath(outcome, x, y));
  });
  const under = (event: MouseEvent) => {
    const frame = (event.currentTarget as Element).getBoundingClientRect();
    const column = Math.floor((event.clientX - frame.left) / size);
    const row = Math.floor((event.clientY - frame.top) / size);
    return column < across ? units[row * across + column] : undefined;
  };
  const label = `${plural(units.length, 'unit')} as marks; each is in the list of units below.`;
  return (
    <div ref={box} class="rung-field">
      <svg
        width={across * size}
        height={rows * size}
        role="img"
        aria-label={label}
        onMouseMove={(event) => {
          const unit = under(event);
          if (title.current) title.current.textContent = unit ? saidOf(place, unit) : '';
        }}
        onClick={(event) => {
          const trial = under(event)?.trials[0];
          if (trial !== undefined) navigate(hrefs.trial(place.experiment, trial));
        }}
      >
        <title ref={title} />
        {[...paths].map(([outcome, parts]) => (
          <path key={outcome} class={`rung-mark tone-${toneOf(outcome)}`} d={parts.join('')} />
        ))}
      </svg>
    </div>
  );
}

// Who was sent to a rung: those that went on first, then by value, the best first.
export function unitsAt(phase: SearchPhase, bracket: number, rung: number): SearchUnit[] {
  const at = phase.brackets[bracket]!.rungs[rung]!.rung;
  const sign = phase.direction === 'min' ? 1 : -1;
  const rank = (unit: SearchUnit) => outcomes.indexOf(outcomeAt(unit, rung));
  const worth = (unit: SearchUnit) => {
    const value = sign * scoreOf(unit, at);
    return Number.isNaN(value) ? Infinity : value;
  };
  const order = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1); // infinities are equal
  return phase.units
    .filter((unit) => bracketOf(phase, unit) === bracket && unit.rung >= rung)
    .sort((a, b) => rank(a) - rank(b) || order(worth(a), worth(b)));
}

function Rung({ place, bracket }: { place: RungPlace; bracket: SearchBracket }) {
  const { phase, rung } = place;
  const { rung: at, sent, there, advanced, stopped, failed } = bracket.rungs[rung]!;
  const units = unitsAt(phase, place.bracket, rung);
  const last = rung === bracket.rungs.length - 1;
  const counts = [
    [sent, 'sent'],
    [there, last ? 'finished' : 'there'],
    ...(last ? [] : [[advanced, 'advanced'] as const]),
    [stopped, 'stopped'],
    [failed, 'failed'],
  ] as const;
  return (
    <li class="rung">
      <div class="rung-head">
        <b>{rungText(phase.resource, at)}</b>
        <span class="rung-counts">
          {counts.map(([n, word]) => (
            <span key={word} class={n === 0 ? 'quiet' : ''}>
              {count(n)} {word}
            </span>
          ))}
        </span>
      </div>
      {units.length > linksMost ? (
        <MarkField place={place} units={units} />
      ) : (
        <MarkLinks place={place} units={units} />
      )}
    </li>
  );
}

function MarkLegend({ phase }: { phase: SearchPhase }) {
  const there = new Set(
    phase.units.flatMap((unit) => [
      ...(unit.rung > 0 ? ['advanced'] : []),
      ...(unit.rung >= 0 ? [unit.state] : []),
    ]),
  );
  const shown = outcomes.filter((outcome) => there.has(outcome));
  if (shown.length === 0) return null;
  return (
    <ul class="mark-legend" aria-label="Marks">
      {shown.map((outcome) => (
        <li key={outcome}>
          <svg width={size} height={size} aria-hidden="true" class={`rung-mark tone-${toneOf(outcome)}`}>
            <path d={markPath(outcome, size / 2, size / 2)} />
          </svg>
          {outcome}
        </li>
      ))}
    </ul>
  );
}

const bracketName = ({ advance, groups }: SearchPhase, bracket: number) =>
  (advance === 'race' && groups[bracket]) || `Bracket ${bracket + 1}`;

export function Ladder({ experiment, phase }: { experiment: string; phase: SearchPhase }) {
  const waiting = phase.units.filter((unit) => unit.rung < 0).length;
  if (!phase.brackets.some((bracket) => bracket.rungs.length > 0))
    return <p class="quiet">There are no rungs: every unit goes to the end at once.</p>;
  return (
    <>
      {phase.brackets.map((bracket, b) => (
        <section key={b} class="bracket" aria-label={bracketName(phase, b)}>
          {phase.brackets.length > 1 && <h3>{bracketName(phase, b)}</h3>}
          <ol class="ladder">
            {bracket.rungs.map((_, rung) => (
              <Rung key={rung} place={{ experiment, phase, bracket: b, rung }} bracket={bracket} />
            ))}
          </ol>
        </section>
      ))}
      {waiting > 0 && <p class="table-note">{plural(waiting, 'unit')} wait for their turn.</p>}
      <MarkLegend phase={phase} />
    </>
  );
}
