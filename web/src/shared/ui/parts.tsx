// Small parts used across pages: states as pills, progress, swatches, figures.
import type { ComponentChildren } from 'preact';
import { count, undefinedMark } from '@/shared/format';
import { cellClass, cellStyle, type Look } from '@/shared/palette';

// States of experiments, stages, attempts and workers, by tone. Color is never the only sign: the word is
// always there.
const tones: Record<string, string> = {
  active: 'running',
  running: 'running',
  completed: 'good',
  ended: 'good',
  finished: 'good',
  succeeded: 'good',
  failed: 'bad',
  lost: 'bad',
  held: 'warn',
  paused: 'warn',
  draining: 'warn',
  silent: 'warn',
  stopped: 'warn',
  parked: 'parked',
  queued: 'idle',
  waiting: 'idle',
  blocked: 'idle',
  cancelled: 'idle',
  offline: 'bad',
};

export const stateTone = (state: string): string => tones[state] ?? 'idle';

export function State({ state, label = state }: { state: string; label?: string }) {
  return (
    <span class={`pill pill-${stateTone(state)}`}>
      <span class="pill-dot" aria-hidden="true" />
      {label}
    </span>
  );
}

export interface ProgressPart {
  label: string;
  value: number;
  tone: string;
}

// A bar of parts of a whole, such as stages by state.
export function ProgressBar({
  parts,
  total,
  label,
}: {
  parts: readonly ProgressPart[];
  total: number;
  label: string;
}) {
  const shown = parts.filter((part) => part.value > 0);
  const done = parts.filter((part) => part.tone === 'good').reduce((sum, part) => sum + part.value, 0);
  const told = shown.map((part) => `${count(part.value)} ${part.label}`).join(', ');
  const text = `${label}: ${told || 'none yet'} of ${count(total)}`;
  return (
    <div
      class="progress"
      role="progressbar"
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={done}
      aria-label={text}
      title={text}
    >
      {shown.map((part) => (
        <span
          key={part.label}
          class={`progress-part tone-${part.tone}`}
          style={{ width: `${(100 * part.value) / Math.max(1, total)}%` }}
        />
      ))}
    </div>
  );
}

// The cell's color and marker shape, the same in every chart and table.
export function Swatch({ look }: { look: Look | null }) {
  return <span class={`swatch ${cellClass(look)}`} aria-hidden="true" />;
}

// How the cell's line is drawn, for charts that have lines only.
export function LineSample({ look }: { look: Look | null }) {
  const { color, dash } = cellStyle(look);
  return (
    <svg class="line-sample" width={28} height={8} aria-hidden="true" style={{ color }}>
      <line x1={0} x2={28} y1={4} y2={4} stroke-dasharray={dash.join(' ')} />
    </svg>
  );
}

export function CellName({
  look,
  label,
  title = label,
  baseline = false,
}: {
  look: Look | null;
  label: string;
  title?: string;
  baseline?: boolean;
}) {
  return (
    <span class="cell-name">
      <Swatch look={look} />
      <span class="cell-label" title={title}>
        {label}
      </span>
      {baseline && (
        <span class="tag" title="The others are compared with this cell">
          baseline
        </span>
      )}
    </span>
  );
}

export function Figure({
  label,
  children,
  note,
}: {
  label: ComponentChildren;
  children: ComponentChildren;
  note?: ComponentChildren;
}) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>
        {children}
        {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  );
}

export function Card(props: {
  title: ComponentChildren;
  id: string;
  tools?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) {
  return (
    <section class={`card ${props.class ?? ''}`} aria-labelledby={props.id}>
      <div class="card-head">
        <h2 id={props.id}>{props.title}</h2>
        {props.tools !== undefined && <div class="card-tools">{props.tools}</div>}
      </div>
      {props.children}
    </section>
  );
}

// One of a few: buttons side by side.
export function Choice<T extends string>(props: {
  label: string;
  options: readonly { value: T; text: ComponentChildren }[];
  value: T;
  choose: (value: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={props.label}>
      {props.options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === props.value}
          onClick={() => props.choose(option.value)}
        >
          {option.text}
        </button>
      ))}
    </div>
  );
}

export function Switch({ label, on, set }: { label: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label class="switch">
      <input type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

// Text of a table's cell whose mark for nothing is left out where narrow screens make a card of the row.
export const orNothing = (text: string) =>
  text === undefinedMark ? <span class="nothing">{text}</span> : text;
