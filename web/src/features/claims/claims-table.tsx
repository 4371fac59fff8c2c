// One printed table: its setting, its numbers, and what was measured beside them.
import { hrefs } from '@/shared/hrefs';
import { fixed, meanStdText, plural, signed } from '@/shared/format';
import { Card } from '@/shared/ui/parts';
import { Callout } from '@/shared/ui/states';
import { type Grid, gridOf, matchesOf, optionsOf, priorNames, priorOf } from '@/parts/claims/data';
import type { Claim, ClaimSetting, ClaimTable } from '@/shared/api/messages';

const sentencesMost = 12; // more are folded away
const scaled = new Set(['K', 'M', 'G']); // units that are part of a printed number

export function Priors({ json }: { json: string }) {
  const names = priorNames(json);
  if (names.length === 0) return null;
  return (
    <span class="claim-priors">
      {names.map(({ id, options }) => (
        <a key={id} href={hrefs.catalog('prior', id)} title={options || id}>
          {id}
          {options !== '' && <small> {options}</small>}
        </a>
      ))}
    </span>
  );
}

function Settings({ settings }: { settings: readonly ClaimSetting[] }) {
  if (settings.length === 0) return null;
  return (
    <dl class="claim-setting">
      {settings.map((each) => (
        <div key={`${each.name} ${each.value}`} class={each.here === '' ? '' : 'claim-differs'}>
          <dt>{each.name}</dt>
          <dd>
            {each.value}
            {each.from === 'code' && <span class="claim-code"> from code</span>}
            {each.here !== '' && <span class="claim-here"> here {each.here}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Number({ claim, decimals }: { claim: Claim; decimals: number }) {
  return (
    <>
      <span class="claim-value" title={claim.setting.map((each) => `${each.name}: ${each.value}`).join('\n')}>
        {meanStdText(claim.value, claim.std, decimals)}
        {scaled.has(claim.unit) && ` ${claim.unit}`}
        {claim.note !== '' && (
          <span class="claim-mark" role="img" title={claim.note} aria-label={`Note: ${claim.note}`}>
            *
          </span>
        )}
      </span>
      {!globalThis.Number.isNaN(claim.difference) && (
        <small title={`From ${claim.baseline}`}>{signed(claim.difference, Math.max(1, decimals))}</small>
      )}
      {claim.measured.map((each) => (
        <span key={each.cell} class="claim-measured" title={each.sentence}>
          {each.n === 0 ? 'not yet' : `${fixed(each.mean, 2)} here`}
        </span>
      ))}
    </>
  );
}

function Numbers({ table, grid }: { table: ClaimTable; grid: Grid }) {
  const ofColumn = (column: string) => table.claims.filter((each) => each.column === column);
  const ofRow = (row: string) => table.claims.filter((each) => each.row === row);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={`${table.table}, numbers`}>
      <table class="table table-small claim-table">
        <thead>
          <tr>
            <td />
            {grid.columns.map((column) => (
              <th key={column} scope="col" class="number">
                {column}
                {grid.priorOn === 'column' && <Priors json={priorOf(ofColumn(column))} />}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {grid.rows.map((row) => (
            <tr key={row}>
              <th scope="row">
                {row}
                {grid.priorOn === 'row' && <Priors json={priorOf(ofRow(row))} />}
              </th>
              {grid.columns.map((column) => {
                const claim = grid.at(row, column);
                return (
                  <td key={column} class="number">
                    {claim && <Number claim={claim} decimals={grid.decimals.get(column) ?? 0} />}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Sentences({ table }: { table: ClaimTable }) {
  const found = matchesOf(table);
  const ofTable = table.setting.filter((each) => each.here !== '').map((each) => `${each.name}: `);
  if (found.length === 0) return null;
  const list = (
    <ul class="claim-sentences" aria-label={`${table.table}, print and measurement`}>
      {found.map(({ claim, match }) => {
        const own = match.differences.filter((each) => !ofTable.some((start) => each.startsWith(start)));
        return (
          <li key={`${claim.row}/${claim.column}/${match.cell}`}>
            <span class="claim-pair">
              {claim.row} · {claim.column} <span aria-hidden="true">↔</span> {match.label}
            </span>
            <span>
              {match.verdict !== 'not-comparable' && <b class="claim-verdict">{match.verdict}: </b>}
              {match.sentence}
            </span>
            {own.length > 0 && <small>{own.join(' · ')}</small>}
          </li>
        );
      })}
    </ul>
  );
  if (found.length <= sentencesMost) return list;
  return (
    <details class="claim-all">
      <summary>{plural(found.length, 'sentence')}, one a number with a match</summary>
      {list}
    </details>
  );
}

function Notes({ table }: { table: ClaimTable }) {
  const seen = new Map<string, string>(); // note -> where it first stands
  for (const claim of table.claims)
    if (claim.note !== '' && !seen.has(claim.note)) seen.set(claim.note, `${claim.row}, ${claim.column}`);
  const deviations = table.claims.some((each) => !globalThis.Number.isNaN(each.std));
  const without = new Map(table.claims.map((each) => [each.metric, each.unmeasured]));
  for (const [metric, why] of without) if (why === '') without.delete(metric);
  if (table.note === '' && seen.size === 0 && !deviations && without.size === 0) return null;
  return (
    <div class="table-note">
      {table.note !== '' && <p>{table.note}</p>}
      {deviations && <p>± is the standard deviation, as printed.</p>}
      {[...without].map(([metric, why]) => (
        <p key={metric}>
          No counterpart here for {metric}: {why}.
        </p>
      ))}
      {[...seen].map(([note, where]) => (
        <p key={note}>
          * {where}: {note}
        </p>
      ))}
    </div>
  );
}

export function ClaimsTable({ table, experiment }: { table: ClaimTable; experiment: string }) {
  const id = `claims-${table.paper}-${table.table}`.replace(/[^a-z0-9-]+/gi, '-');
  return (
    <Card title={table.table} id={id} class="claim-card">
      <p class="card-note">{table.caption}</p>
      <Settings settings={[...table.setting, ...optionsOf(table)]} />
      <Numbers table={table} grid={gridOf(table)} />
      {experiment !== '' && matchesOf(table).length === 0 && (
        <Callout tone="note">
          No cell of {experiment} has the priors, task and metric of a number here.
        </Callout>
      )}
      <Sentences table={table} />
      <Notes table={table} />
    </Card>
  );
}
