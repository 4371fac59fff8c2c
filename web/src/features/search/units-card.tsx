// The space of a search and the list of its units: what is brushed above is listed below.
import { useMemo, useRef, useState } from 'preact/hooks';
import { useExperiment } from '@/parts/experiments';
import type { SearchPhase } from '@/shared/api/messages';
import { svgOf } from '@/shared/charts/figure';
import { FigureMenu } from '@/shared/charts/figure-menu';
import { csvOf } from '@/shared/csv';
import { count, plural } from '@/shared/format';
import type { Look } from '@/shared/palette';
import { textQuery, useQuery } from '@/shared/router';
import { VirtualTable } from '@/shared/tables/data-table';
import { sortingQuery, useTable } from '@/shared/tables/use-table';
import { SelectField } from '@/shared/ui/fields';
import { Icon } from '@/shared/ui/icon';
import { Card } from '@/shared/ui/parts';
import { PermittedButton } from '@/shared/ui/permitted';
import { Tally } from '@/shared/ui/tally';
import { DecideDialog, type Word } from './decide-dialog';
import { axesOf, type Brush, linesOf, within } from './space';
import { SpacePlot } from './space-plot';
import { type UnitRow, unitColumns } from './unit-columns';
import { canGoOn, canStop, rungsOf, rungText, scoreOf, unitName, valuesOf } from './units';

const stateQuery = textQuery('');
const rungQuery = textQuery('');
const rowHeight = 37;

// As it stands in the specification, unrounded.
const written = (value: unknown) =>
  typeof value === 'number' || typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

export function unitsCsv(phase: SearchPhase, rows: readonly UnitRow[]): string {
  const rungs = rungsOf(phase);
  const paths = phase.space.map(({ path }) => path);
  return csvOf(
    ['group', 'proposal', 'cell', 'state', ...paths, ...rungs.map((rung) => `${phase.metric}@${rung}`)],
    rows.map(({ unit }) => [
      phase.groups[unit.group],
      unit.proposal,
      unit.cell,
      unit.state,
      ...paths.map((path) => written(valuesOf(unit)[path])),
      ...rungs.map((rung) => scoreOf(unit, rung)),
    ]),
  );
}

interface UnitsProps {
  experiment: string;
  phase: SearchPhase;
  looks: readonly Look[];
  focus: number | null;
  setFocus: (unit: number | null) => void;
  after: () => void; // an action
}

// Of the rows that are shown: what was picked and then brushed away is left alone.
function Actions(
  props: UnitsProps & { rows: readonly UnitRow[]; picked: ReadonlySet<number>; done: () => void },
) {
  const { experiment, rows, picked, done, after } = props;
  const [asked, setAsked] = useState<Word | null>(null);
  const owner = useExperiment(experiment).data?.owner;
  const units = rows.filter((row) => picked.has(row.index)).map((row) => row.unit);
  const [stoppable, stopped] = [units.filter(canStop), units.filter(canGoOn)];
  if (units.length === 0) return <span class="quiet">Pick units to stop them or let them go on</span>;
  const button = (word: Word, n: number) => (
    <PermittedButton
      need="submitter"
      owner={owner}
      disabled={n === 0}
      onClick={() => setAsked(word)}
      label={`${word === 'stop' ? 'Stop' : 'Continue'} ${plural(n, 'unit')}`}
    >
      <Icon name={word === 'stop' ? 'stop' : 'play'} size={14} />
      {word === 'stop' ? 'Stop' : 'Continue'} {count(n)}
    </PermittedButton>
  );
  return (
    <>
      {button('stop', stoppable.length)}
      {button('continue', stopped.length)}
      {asked && (
        <DecideDialog
          experiment={experiment}
          word={asked}
          units={asked === 'stop' ? stoppable : stopped}
          close={() => setAsked(null)}
          after={() => {
            done();
            after();
          }}
        />
      )}
    </>
  );
}

function UnitList(props: UnitsProps & { rows: UnitRow[] }) {
  const { experiment, phase, looks, rows, focus, setFocus } = props;
  const [sorting, setSorting] = useQuery('sort', sortingQuery);
  const [state, setState] = useQuery('state', stateQuery);
  const [picked, setPicked] = useState<ReadonlySet<number>>(new Set());
  const shown = useMemo(() => rows.filter((row) => state === '' || row.unit.state === state), [rows, state]);
  const columns = useMemo(
    () => unitColumns(experiment, phase, looks, { picked, setPicked }),
    [experiment, phase, looks, picked],
  );
  const table = useTable({ data: shown, columns, sorting, setSorting, rowId: (row) => String(row.index) });
  return (
    <>
      <div class="toolbar">
        <Tally label="State" values={rows.map((row) => row.unit.state)} value={state} choose={setState} />
        <span class="toolbar-end">
          <Actions {...props} rows={shown} picked={picked} done={() => setPicked(new Set())} />
        </span>
      </div>
      {shown.length === 0 ? (
        <p class="chart-empty">No unit is left by the brushes and the state chosen.</p>
      ) : (
        <VirtualTable
          table={table}
          caption="Units"
          class="units"
          rowHeight={rowHeight}
          rowClass={(row) => (row.index === focus ? 'row-focus' : '')}
          onRowHover={(row) => setFocus(row ? row.index : null)}
        />
      )}
    </>
  );
}

export function UnitsCard(props: UnitsProps) {
  const { experiment, phase, looks, focus, setFocus } = props;
  const box = useRef<HTMLDivElement>(null);
  const [brush, setBrush] = useState<Brush>(new Map());
  const [askedRung, setRung] = useQuery('rung', rungQuery);
  const rungs = rungsOf(phase);
  const rung = rungs.find((each) => String(each) === askedRung) ?? null;
  const axes = useMemo(() => axesOf(phase, rung), [phase, rung]);
  const lines = useMemo(() => linesOf(phase, axes, rung), [phase, axes, rung]);
  const rows = useMemo(
    () =>
      lines
        .filter((line) => within(line, brush))
        .map(({ unit }) => ({ index: unit, unit: phase.units[unit]! })),
    [lines, brush, phase],
  );
  const legend = phase.groups.map((label, g) => ({ label: label || 'all units', look: looks[g] ?? null }));
  const focused = focus === null ? undefined : phase.units[focus];
  const tools = (
    <>
      {rungs.length > 1 && (
        <SelectField
          label="Value"
          value={rung === null ? '' : String(rung)}
          options={[
            { value: '', text: 'latest of each' },
            ...rungs.map((each) => ({ value: String(each), text: `at ${rungText(phase.resource, each)}` })),
          ]}
          choose={setRung}
        />
      )}
      {brush.size > 0 && (
        <button type="button" class="button button-small" onClick={() => setBrush(new Map())}>
          Clear brushes
        </button>
      )}
      {phase.space.length > 0 && (
        <FigureMenu
          name={`${experiment}-space`}
          svg={(scheme) =>
            svgOf(box.current!.querySelector('svg.figure')!, {
              title: `${experiment}: space and ${phase.metric}`,
              legend,
              scheme,
            })
          }
          csv={() => unitsCsv(phase, rows)}
        />
      )}
    </>
  );
  return (
    <Card title="Units" id="search-units" tools={tools}>
      {phase.units.length === 0 && (
        <p class="chart-empty">
          {phase.state === 'ended' ? 'The phase ended without a unit.' : 'Nothing has been proposed yet.'}
        </p>
      )}
      {phase.units.length > 0 && phase.space.length > 0 && (
        <div ref={box}>
          <SpacePlot
            axes={axes}
            lines={lines}
            looks={looks}
            brush={brush}
            setBrush={setBrush}
            focus={focus}
            setFocus={setFocus}
            label="Settings and values, a line per unit; the numbers are in the list below."
          />
          <p class="table-note" aria-live="polite">
            {brush.size > 0
              ? `${count(rows.length)} of ${plural(phase.units.length, 'unit')} are within the brushes. `
              : 'Drag along an axis, or move its two handles with the arrow keys, to narrow the list. '}
            {focused && unitName(phase, focused)}
          </p>
        </div>
      )}
      {phase.units.length > 0 && <UnitList {...props} rows={rows} />}
    </Card>
  );
}
