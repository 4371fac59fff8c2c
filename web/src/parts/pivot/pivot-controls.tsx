// The controls of the pivot: where each axis goes and which of its values count, the metrics, the test and what is
// shown beside a mean.
import { useId, useState } from 'preact/hooks';
import type { PaperTable, TableAxis } from '@/shared/api/messages';
import { SelectField } from '@/shared/ui/fields';
import { Switch } from '@/shared/ui/parts';
import { Popover } from '@/shared/ui/popover';
import { corrections, filtered, type PivotState, type Place, placed, spreads, tests } from './request';
import { headingKey } from './words';

const testTexts = { 'sign-flip': 'sign-flip, exact', 'paired-t': 'paired t', welch: 'Welch t' } as const;
const spreadTexts = { std: '± std', interval: 'interval', none: 'nothing' } as const;
const correctionTexts = { holm: 'Holm', none: 'none' } as const;
const costs = [
  'parameters',
  'ms_per_step',
  'forward_ms_p50',
  'images_per_second',
  'flops',
  'peak_memory_bytes',
];

const placeOf = (table: PaperTable, axis: string): Place =>
  table.row_axes.includes(axis) ? 'rows' : table.column_axes.includes(axis) ? 'columns' : 'out';

function AxisControl({ axis, table, state }: { axis: TableAxis; table: PaperTable; state: PivotState }) {
  const { request, set } = state;
  const place = placeOf(table, axis.name);
  const filter = request.where.find((each) => each.axis === axis.name);
  const move = (next: Place) => {
    const { rows, columns } = placed(request, table, axis.name, next);
    set.rows(rows);
    set.columns(columns);
  };
  const options = [
    { value: 'rows', text: 'rows' },
    { value: 'columns', text: 'columns' },
    { value: 'out', text: axis.kind === 'metric' ? 'innermost' : 'left out' },
  ] as const;
  return (
    <span class={`pivot-axis ${place === 'out' ? '' : 'pivot-axis-used'}`}>
      <SelectField label={axis.name} value={place} options={options} choose={move} />
      {axis.kind !== 'metric' && axis.labels.length > 1 && (
        <Popover
          label="only"
          {...(filter ? { note: `${filter.values.length} of ${axis.labels.length}` } : {})}
        >
          {() => (
            <fieldset class="picker">
              <legend class="off-screen">Values of {axis.name} that count</legend>
              {axis.labels.map((label) => (
                <Switch
                  key={label}
                  label={label}
                  on={filter ? filter.values.includes(label) : false}
                  set={(on) => set.where(filtered(request.where, axis.name, label, on))}
                />
              ))}
            </fieldset>
          )}
        </Popover>
      )}
    </span>
  );
}

function MetricsControl({ table, state, known }: { table: PaperTable; state: PivotState; known: string[] }) {
  const { request, set } = state;
  const [wish, setWish] = useState('');
  const id = useId();
  const shown = request.metrics.length > 0 ? request.metrics : firstMetric(table);
  const add = () => {
    const [metric = '', split = ''] = wish.trim().split(/[\s/]+/);
    if (metric === '') return;
    set.metrics([...shown, { metric, split, reduce: '', labels: '' }]);
    setWish('');
  };
  return (
    <Popover label="Metrics" {...(shown.length > 1 ? { note: String(shown.length) } : {})}>
      {() => (
        <form
          class="picker pivot-metrics"
          onSubmit={(event) => {
            event.preventDefault();
            add();
          }}
        >
          {shown.map((each, i) => (
            <Switch
              key={`${each.metric}/${each.split}/${i}`}
              label={[each.metric, each.split, each.reduce].filter((part) => part !== '').join(' · ')}
              on
              set={() => set.metrics(shown.length > 1 ? shown.filter((_, j) => j !== i) : [])}
            />
          ))}
          <label class="select-field">
            <span>add</span>
            <input
              class="text-field"
              aria-label="Metric to add, with its split after a slash"
              placeholder="loss/validation"
              list={id}
              value={wish}
              onInput={(event) => setWish(event.currentTarget.value)}
            />
          </label>
          <datalist id={id}>
            {[...new Set([...known, ...costs])].map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <button type="submit" class="button button-small">
            Add metric
          </button>
        </form>
      )}
    </Popover>
  );
}

function firstMetric(table: PaperTable) {
  const seen = new Map(table.columns.map((column) => [`${column.metric}/${column.split}`, column]));
  return [...seen.values()].map(({ metric, split }) => ({ metric, split, reduce: '', labels: '' }));
}

function NumberField(props: {
  label: string;
  value: number;
  low: number;
  high: number;
  step: number;
  set: (value: number) => void;
}) {
  return (
    <label class="select-field">
      <span>{props.label}</span>
      <input
        type="number"
        class="number-field"
        aria-label={props.label}
        min={props.low}
        max={props.high}
        step={props.step}
        value={props.value}
        onChange={(event) => {
          const value = event.currentTarget.valueAsNumber;
          if (value >= props.low && value <= props.high) props.set(value);
        }}
      />
    </label>
  );
}

function ColumnsControl({
  table,
  hidden,
  setHidden,
}: {
  table: PaperTable;
  hidden: ReadonlySet<string>;
  setHidden: (hidden: ReadonlySet<string>) => void;
}) {
  const toggle = (key: string, on: boolean) => {
    const next = new Set(hidden);
    if (on) next.delete(key);
    else next.add(key);
    setHidden(next);
  };
  return (
    <Popover label="Columns" icon="columns">
      {() => (
        <fieldset class="picker">
          <legend class="off-screen">Columns shown</legend>
          {table.columns.map((column) => {
            const key = headingKey(column);
            const label = [...column.labels, column.metric, column.split].join(' · ');
            return <Switch key={key} label={label} on={!hidden.has(key)} set={(on) => toggle(key, on)} />;
          })}
        </fieldset>
      )}
    </Popover>
  );
}

const asOptions = <T extends string>(values: readonly T[], texts: Record<T, string>) =>
  values.map((value) => ({ value, text: texts[value] }));

export function PivotControls(props: {
  table: PaperTable;
  state: PivotState;
  known: string[]; // metrics there are
  hidden: ReadonlySet<string>;
  setHidden: (hidden: ReadonlySet<string>) => void;
}) {
  const { table, state } = props;
  const { request, set } = state;
  return (
    <>
      <div class="toolbar toolbar-quiet pivot-axes" role="group" aria-label="Layout">
        {table.axes
          .filter((axis) => axis.labels.length > 1 || placeOf(table, axis.name) !== 'out')
          .map((axis) => (
            <AxisControl key={axis.name} axis={axis} table={table} state={state} />
          ))}
      </div>
      <div class="toolbar toolbar-quiet" role="group" aria-label="What is shown">
        <MetricsControl table={table} state={state} known={props.known} />
        <SelectField
          label="Spread"
          value={request.spread}
          options={asOptions(spreads, spreadTexts)}
          choose={set.spread}
        />
        <SelectField
          label="Test"
          value={request.test}
          options={asOptions(tests, testTexts)}
          choose={set.test}
        />
        <SelectField
          label="Correction"
          value={request.correction}
          options={asOptions(corrections, correctionTexts)}
          choose={set.correction}
        />
        <Switch label="Differences" on={request.differences} set={set.differences} />
        <ColumnsControl {...props} />
        <Popover label="More">
          {() => (
            <div class="picker">
              <NumberField
                label="Interval level"
                value={request.level}
                low={0.5}
                high={0.999}
                step={0.01}
                set={set.level}
              />
              <NumberField
                label="Alpha"
                value={request.alpha}
                low={0.0001}
                high={0.5}
                step={0.01}
                set={set.alpha}
              />
              <NumberField label="Digits" value={request.digits} low={1} high={6} step={1} set={set.digits} />
              <NumberField
                label="Seeds to see a difference of"
                value={request.detect}
                low={0}
                high={1e6}
                step={0.1}
                set={set.detect}
              />
            </div>
          )}
        </Popover>
      </div>
    </>
  );
}
