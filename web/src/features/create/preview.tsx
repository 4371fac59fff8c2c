// What the specification would run: counts, cells, and what it changes where the name is taken.
import { useState } from 'preact/hooks';
import type { Plan } from '@/shared/api/messages';
import { bytes, count, duration, parameters, plural } from '@/shared/format';
import { Figure, ProgressBar } from '@/shared/ui/parts';
import { Callout } from '@/shared/ui/states';

const cellsShown = 12;

export function changeText(plan: Plan): string {
  const parts = [
    plan.trials_added > 0 ? `${plural(plan.trials_added, 'trial')} added` : '',
    plan.trials_removed > 0 ? `${plural(plan.trials_removed, 'trial')} removed` : '',
    plan.trials_changed > 0 ? `${plural(plan.trials_changed, 'trial')} with other settings` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'nothing changes' : parts.join(', ');
}

type Range = NonNullable<Plan['parameters']>;

// "218k–412k": one number where all cells agree.
export function rangeText(range: Range, show: (value: number) => string): string {
  const [least, most] = [show(range.least), show(range.most)];
  return least === most ? most : `${least}–${most}`;
}

export function historyText({ kind, basis, device, runs, stages }: Plan['history'][number]): string {
  const what = basis === 'same-setting' ? 'the same setting' : 'other settings of this size';
  const most = stages > 1 && runs > 1 ? 'up to ' : '';
  return `${kind}: ${plural(stages, 'stage')} by ${most}${plural(runs, 'run')} of ${what} on ${device}`;
}

// "3 h 05 min of computing, 50 min on the 4 slots that are free now"; empty where nothing of the time is known.
export function timeText(plan: Plan): string {
  if (plan.compute_seconds === null) return '';
  const computing = `${duration(plan.compute_seconds)} of computing`;
  if (plan.wall_seconds === null) return computing;
  const slots = plan.free_slots === 1 ? 'slot that is' : `${count(plan.free_slots)} slots that are`;
  return `${computing}, ${duration(plan.wall_seconds)} on the ${slots} free now`;
}

type Search = NonNullable<Plan['search']>;

// "sobol, 32 proposals, the same for all 4 groups"
export function searchText(search: Search): string {
  if (search.propose === 'external') {
    return search.proposals > 0 ? `proposals of a client, ${count(search.proposals)} at most` : 'proposals of a client';
  }
  const proposals = `${search.propose}, ${plural(search.proposals, 'proposal')}`;
  if (search.groups < 2) return proposals;
  return `${proposals}, ${search.shared ? 'the same for all' : 'drawn for each of'} ${count(search.groups)} groups`;
}

// "32 cells to 1 epochs, 8 to 3, 4 to 9": a text for each bracket.
export function rungTexts(search: Search): string[] {
  if (search.advance === 'none') return [];
  return search.brackets.map(({ rungs }) =>
    rungs
      .map((one, index) => {
        const units = rangeText(one, count);
        return index === 0
          ? `${units} ${search.unit}s to ${count(one.rung)} ${search.resource}`
          : `${units} to ${count(one.rung)}`;
      })
      .join(', '),
  );
}

// "96 trainings, 200–264 epochs; at most 96 checkpoints parked, 1.2 GB"
export function workText(search: Search): string {
  const trainings = rangeText({ least: search.least_trainings, most: search.most_trainings }, count);
  const epochs = rangeText({ least: search.least_epochs, most: search.most_epochs }, count);
  const work = `${trainings} trainings, ${epochs} epochs`;
  if (search.parked === 0) return work;
  const size = search.parked_bytes === null ? '' : `, about ${bytes(search.parked_bytes)}`;
  return `${work}; at most ${plural(search.parked, 'checkpoint')} parked${size}`;
}

function SearchLines({ search }: { search: Search }) {
  const counted = search.decides && search.units > 0;
  return (
    <>
      <dt>Search</dt>
      <dd>
        {searchText(search)}
        {counted && rungTexts(search).map((text) => <small key={text}>{text}</small>)}
        {counted && <small>{workText(search)}</small>}
        {counted && <small>all other counts are of cells that are trained to their end</small>}
        {!search.decides && <small>every proposal is trained to its end</small>}
      </dd>
    </>
  );
}

function uncounted(plan: Plan): string {
  const priors = new Set(plan.cell_list.flatMap((cell) => cell.uncounted_priors));
  return priors.size === 0 ? '' : `, without those of ${[...priors].join(', ')}`;
}

// Size, memory and expected time, and from what the time is known.
function Costs({ plan }: { plan: Plan }) {
  const toRun = plan.stages_to_run + plan.stages_running > 0;
  const known = timeText(plan);
  return (
    <dl class="plan-costs">
      {plan.search && <SearchLines search={plan.search} />}
      {plan.parameters && (
        <>
          <dt>Parameters</dt>
          <dd>
            {rangeText(plan.parameters, parameters)}
            {plan.prior_parameters && `, the priors’ own ${rangeText(plan.prior_parameters, parameters)}`}
            {uncounted(plan)}
          </dd>
        </>
      )}
      {plan.memory_bytes && (
        <>
          <dt>Memory</dt>
          <dd>about {rangeText(plan.memory_bytes, bytes)} a training</dd>
        </>
      )}
      {toRun && (
        <>
          <dt>Time</dt>
          <dd>
            {known === '' ? 'not known: no stage of this size has run here' : `about ${known}`}
            {plan.history.map((one) => (
              <small key={`${one.kind} ${one.basis} ${one.device}`}>{historyText(one)}</small>
            ))}
            {known !== '' && plan.stages_without_history > 0 && (
              <small>{plural(plan.stages_without_history, 'stage')} without history not counted</small>
            )}
          </dd>
        </>
      )}
    </dl>
  );
}

interface CostColumn {
  title: string;
  text: (cell: Plan['cell_list'][number]) => string;
}

const costColumns: readonly CostColumn[] = [
  { title: 'Parameters', text: (cell) => (cell.parameters === null ? '' : count(cell.parameters)) },
  { title: 'Memory', text: (cell) => (cell.memory_bytes === null ? '' : bytes(cell.memory_bytes)) },
  {
    title: 'Time',
    text: (cell) =>
      cell.compute_seconds === null
        ? ''
        : `${duration(cell.compute_seconds)}${cell.stages_without_history > 0 ? ' +' : ''}`,
  },
];

// What the cells agree in stands above the table, once.
export function differingCosts(plan: Plan): CostColumn[] {
  return costColumns.filter(({ text }) => new Set(plan.cell_list.map(text)).size > 1);
}

function Kinds({ plan }: { plan: Plan }) {
  return (
    <ul class="plan-kinds">
      {plan.kinds.map((kind) => (
        <li key={kind.kind}>
          <span>{kind.kind}</span>
          <ProgressBar
            label={kind.kind}
            total={kind.total}
            parts={[{ label: 'done already', value: kind.done, tone: 'good' }]}
          />
          <span class="number">
            {count(kind.to_run)} <small>to run{kind.done > 0 && `, ${count(kind.done)} done`}</small>
          </span>
        </li>
      ))}
    </ul>
  );
}

function Cells({ plan }: { plan: Plan }) {
  const [all, setAll] = useState(false);
  const shown = all ? plan.cell_list : plan.cell_list.slice(0, cellsShown);
  const more = plan.cells - shown.length;
  const costs = differingCosts(plan);
  return (
    <>
      <table class="table table-small plan-cells">
        <caption class="off-screen">Cells of the plan</caption>
        <thead>
          <tr>
            <th scope="col">Cell</th>
            <th scope="col" class="number">
              Trials
            </th>
            <th scope="col" class="number">
              Done
            </th>
            <th scope="col" class="number">
              To run
            </th>
            {costs.map(({ title }) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((cell) => (
            <tr key={cell.label}>
              <th scope="row">{cell.label}</th>
              <td class="number">{count(cell.trials)}</td>
              <td class="number">{count(cell.stages_done)}</td>
              <td class="number">{count(cell.stages_to_run)}</td>
              {costs.map(({ title, text }) => (
                <td key={title} class="number">
                  {text(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && plan.cell_list.length > shown.length && (
        <button type="button" class="button button-small" onClick={() => setAll(true)}>
          Show {count(plan.cell_list.length - shown.length)} more
        </button>
      )}
    </>
  );
}

export function Preview({ plan }: { plan: Plan }) {
  return (
    <>
      <dl class="figures figures-small">
        <Figure label="Cells">{count(plan.cells)}</Figure>
        <Figure label="Trials">{count(plan.trials)}</Figure>
        <Figure label="Stages to run">{count(plan.stages_to_run)}</Figure>
        <Figure label="Done already">{count(plan.stages_done)}</Figure>
      </dl>
      {plan.exists && (
        <Callout tone={plan.trials_removed > 0 || plan.trials_changed > 0 ? 'warning' : 'note'}>
          {plan.name} is stored already: {changeText(plan)}.
        </Callout>
      )}
      {plan.warnings.map((warning) => (
        <Callout key={warning} tone="warning">
          {warning}
        </Callout>
      ))}
      <Costs plan={plan} />
      <Kinds plan={plan} />
      <Cells plan={plan} />
    </>
  );
}
