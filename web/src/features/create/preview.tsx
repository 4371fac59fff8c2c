// What the specification would run: counts, cells, and what it changes where the name is taken.
import { useState } from 'preact/hooks';
import type { Plan } from '@/shared/api/messages';
import { count, plural } from '@/shared/format';
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
          </tr>
        </thead>
        <tbody>
          {shown.map((cell) => (
            <tr key={cell.label}>
              <th scope="row">{cell.label}</th>
              <td class="number">{count(cell.trials)}</td>
              <td class="number">{count(cell.stages_done)}</td>
              <td class="number">{count(cell.stages_to_run)}</td>
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
      <Kinds plan={plan} />
      <Cells plan={plan} />
    </>
  );
}
