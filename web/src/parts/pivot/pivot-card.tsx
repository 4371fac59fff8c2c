// The pivot table: any factors against any others, computed by the server, everything about it in the address.
import { textQuery, useQuery } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import type { PaperTable } from '@/shared/api/messages';
import { plural } from '@/shared/format';
import { Card } from '@/shared/ui/parts';
import { Callout, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { WhenNear } from '@/shared/ui/when-near';
import './pivot.css';
import { usePivotTable } from './data';
import { PivotControls } from './pivot-controls';
import { PivotExport } from './pivot-export';
import { PivotPairs } from './pivot-pairs';
import { PivotSummaries } from './pivot-summaries';
import { PivotTable } from './pivot-table';
import { axesQuery, usePivotRequest } from './request';
import { commonCount } from './words';

const noPairs = textQuery('');

function Notes({ table }: { table: PaperTable }) {
  const count = commonCount(table);
  const parts = [
    count === null ? 'n varies and stands in each cell' : `n = ${count} in every cell`,
    table.baseline === '' ? 'no baseline declared' : `paired against ${table.baseline}`,
    table.correction,
    table.matched === '' ? '' : `matched protocol: ${table.matched}`,
  ];
  return (
    <>
      <p class="table-note">{parts.filter((part) => part !== '').join(' · ')}</p>
      {table.notes.map((note) => (
        <p key={note} class="table-note">
          {note}
        </p>
      ))}
    </>
  );
}

function Warnings({ table }: { table: PaperTable }) {
  if (table.warnings.length === 0) return null;
  return (
    <Callout tone="warning">
      <ul class="plain-list">
        {table.warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </Callout>
  );
}

export function PivotCard({ experiments, known }: { experiments: readonly string[]; known: string[] }) {
  const state = usePivotRequest();
  const [hiddenKeys, setHiddenKeys] = useQuery('without', axesQuery);
  const [pairs, setPairs] = useQuery('pairs', noPairs);
  const { data: table, error, readAt, refresh } = usePivotTable(experiments, state.request);
  const hidden = new Set(hiddenKeys);
  const caption = `Pivot table of ${experiments.join(', ')}`;
  return (
    <Card
      title="Pivot table"
      id="pivot"
      tools={table && <PivotExport experiments={experiments} request={state.request} />}
    >
      {!table && error && <ReadFailure what="The table" error={error} retry={refresh} />}
      {!table && !error && <Skeleton rows={6} height={30} />}
      {table && (
        <>
          <Stale error={error} readAt={readAt} />
          <PivotControls
            table={table}
            state={state}
            known={known}
            hidden={hidden}
            setHidden={(next) => setHiddenKeys([...next])}
          />
          <PivotTable table={table} request={state.request} hidden={hidden} caption={caption} />
          <Warnings table={table} />
          <Notes table={table} />
          <WhenNear>
            <PivotSummaries table={table} digits={state.request.digits} />
            <PivotPairs table={table} chosen={pairs} choose={setPairs} />
          </WhenNear>
          <p class="table-note">
            {plural(Math.max(table.rows_total, table.rows.length), 'row')},{' '}
            {plural(table.columns.length, 'column')}. Every number explains itself on hover and focus; † asks
            to read the warnings.{' '}
            {experiments.length === 1 && (
              <a href={hrefs.pivotTable(experiments)}>Put other experiments beside it</a>
            )}
          </p>
        </>
      )}
    </Card>
  );
}
