// What of the trials is shown: factor values, results within a range, and which results are columns.
import type { SeriesKey, TrialColumn } from '@/shared/api/messages';
import { seriesText } from '@/shared/format';
import { SelectField } from '@/shared/ui/fields';
import { Switch } from '@/shared/ui/parts';
import { Popover } from '@/shared/ui/popover';
import { columnName } from './columns';
import { isWhole, type Range, wholeRange } from './trial-filter';

const any = '\u0000'; // no value reads so: an empty one is a value too

function End({
  name,
  word,
  value,
  set,
}: {
  name: string;
  word: string;
  value: number; // infinite: no end
  set: (value: number | null) => void;
}) {
  return (
    <label class="range-end">
      <span>{word}</span>
      <input
        type="number"
        step="any"
        class="text-field"
        aria-label={`${name} ${word}`}
        value={Number.isFinite(value) ? value : ''}
        onChange={(event) => {
          const number = event.currentTarget.valueAsNumber;
          set(Number.isNaN(number) ? null : number);
        }}
      />
    </label>
  );
}

export interface FilterMenuProps {
  factors: ReadonlyMap<string, readonly string[]>; // with their values
  chosen: ReadonlyMap<string, string>;
  setChosen: (chosen: ReadonlyMap<string, string>) => void;
  columns: readonly TrialColumn[];
  ranges: ReadonlyMap<number, Range>;
  setRanges: (ranges: ReadonlyMap<number, Range>) => void;
}

export function FilterMenu({ factors, chosen, setChosen, columns, ranges, setRanges }: FilterMenuProps) {
  const choose = (factor: string, value: string) => {
    const next = new Map(chosen);
    if (value === any) next.delete(factor);
    else next.set(factor, value);
    setChosen(next);
  };
  const limit = (column: number, range: Range) => {
    const next = new Map(ranges);
    if (isWhole(range)) next.delete(column);
    else next.set(column, range);
    setRanges(next);
  };
  const active = chosen.size + ranges.size;
  return (
    <Popover label="Filter" icon="filter" {...(active > 0 ? { note: String(active) } : {})}>
      {() => (
        <div class="filter-menu">
          {[...factors].map(([factor, values]) => (
            <SelectField
              key={factor}
              label={factor}
              value={chosen.get(factor) ?? any}
              choose={(value) => choose(factor, value)}
              options={[
                { value: any, text: 'any' },
                ...values.map((value) => ({ value, text: value || 'not set' })),
              ]}
            />
          ))}
          {columns.map((column, i) => {
            const name = columnName(column, columns);
            const range = ranges.get(i) ?? wholeRange;
            return (
              <div key={i} class="range-field" role="group" aria-label={name}>
                <span class="range-name">{column.unit === '' ? name : `${name} (${column.unit})`}</span>
                <End
                  name={name}
                  word="at least"
                  value={range.least}
                  set={(least) => limit(i, { ...range, least: least ?? -Infinity })}
                />
                <End
                  name={name}
                  word="at most"
                  value={range.most}
                  set={(most) => limit(i, { ...range, most: most ?? Infinity })}
                />
              </div>
            );
          })}
          {active > 0 && (
            <button
              type="button"
              class="button button-small"
              onClick={() => {
                setChosen(new Map());
                setRanges(new Map());
              }}
            >
              Clear
            </button>
          )}
        </div>
      )}
    </Popover>
  );
}

const nameOf = (key: SeriesKey) => `${key.metric}/${key.split}/${key.labels}`;

// Which results are columns. `choose` gets none for what the experiment reports alone.
export function ResultsMenu({
  columns,
  available,
  choose,
}: {
  columns: readonly TrialColumn[];
  available: readonly SeriesKey[];
  choose: (metrics: readonly string[]) => void;
}) {
  const shown = columns.map((column) => nameOf(column.key));
  const keys = available.filter((key) => key.split !== '');
  return (
    <Popover label="Results" icon="plus" note={String(shown.length)}>
      {() => (
        <fieldset class="picker">
          <legend class="off-screen">Results shown</legend>
          {keys.map((key) => {
            const name = nameOf(key);
            return (
              <Switch
                key={name}
                label={seriesText(key)}
                on={shown.includes(name)}
                set={(on) => choose(on ? [...shown, name] : shown.filter((each) => each !== name))}
              />
            );
          })}
        </fieldset>
      )}
    </Popover>
  );
}
