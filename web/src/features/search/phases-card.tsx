// The phases of a search: how each proposes and judges, its budget, and what was chosen in it.
import type { Search, SearchBudgetLine, SearchChoice, SearchPhase } from '@/shared/api/messages';
import { count, plural, significant, undefinedMark } from '@/shared/format';
import { Card, ProgressBar, State } from '@/shared/ui/parts';
import { Callout } from '@/shared/ui/states';
import { settingText, valuesOf } from './units';

const orMark = (value: number | null) => (value === null ? undefinedMark : significant(value, 4));

export function chosenText({ values_json: json }: Pick<SearchChoice, 'values_json'>): string {
  if (json === '') return 'nobody was left to choose';
  return Object.entries(valuesOf({ values_json: json }))
    .map(([path, value]) => `${path} ${settingText(value)}`)
    .join(', ');
}

function Choices({ phase }: { phase: SearchPhase }) {
  if (phase.choices.length === 0) return null;
  return (
    <div
      class="table-scroll"
      tabIndex={0}
      role="region"
      aria-label={`Choices of ${phase.name || 'the search'}`}
    >
      <table class="table table-small choices">
        <thead>
          <tr>
            <th scope="col">Group</th>
            <th scope="col">Chosen</th>
            <th scope="col" class="number">
              {phase.metric}
            </th>
            <th scope="col" class="number">
              Ahead by
            </th>
            <th scope="col" class="number">
              Image error
            </th>
            <th scope="col">Seeds</th>
          </tr>
        </thead>
        <tbody>
          {phase.choices.map((choice) => (
            <tr key={choice.group_json}>
              <th scope="row">{choice.group || 'all'}</th>
              <td class={choice.values_json === '' ? 'quiet' : ''}>
                {chosenText(choice)}
                {choice.note !== '' && <small class="choice-note">{choice.note}</small>}
              </td>
              <td class="number">{orMark(choice.value)}</td>
              <td class="number">{orMark(choice.margin)}</td>
              <td class="number">
                {choice.image_error === null ? undefinedMark : `± ${significant(choice.image_error, 2)}`}
              </td>
              <td>{choice.seeds > 0 ? `${choice.agreed} of ${choice.seeds} put it first` : undefinedMark}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const lineNames: Record<string, string> = { slot_hours: 'slot hours', target: 'target value' };
const lineText = (value: number) => (Number.isInteger(value) ? count(value) : significant(value, 4));

export function BudgetLine({ line }: { line: SearchBudgetLine }) {
  const { spent, limit } = line;
  const name = lineNames[line.name] ?? line.name;
  const spentOf = `${lineText(spent)} of ${lineText(limit)}`;
  return (
    <li class="budget-line">
      <span>{name}</span>
      {Number.isFinite(limit) && limit > 0 && Number.isFinite(spent) && spent >= 0 && (
        <ProgressBar
          label={name}
          total={limit}
          parts={[
            { label: 'spent', value: Math.min(spent, limit), tone: spent >= limit ? 'warn' : 'running' },
          ]}
        />
      )}
      <span class="number">{spentOf}</span>
    </li>
  );
}

// How a phase goes about it, in a line.
export function mannerText(phase: SearchPhase): string {
  const { propose, advance, resource, unit, groups, shared, proposals, proposed, metric, split } = phase;
  const among = groups.length > 1 ? ` in ${plural(groups.length, 'group')}` : '';
  const each = groups.length > 1 && shared ? ', the same for all' : '';
  const most = proposals > 0 ? ` of at most ${count(proposals)} each${each}` : '';
  return [
    `proposes by ${propose || 'grid'}`,
    advance === '' || advance === 'none' ? 'sends all to the end' : `${advance} over ${resource}, by ${unit}`,
    `judged by ${metric} on ${split}, ${phase.direction === 'min' ? 'smaller' : 'larger'} is better`,
    `${plural(proposed, 'unit')}${among}${most}`,
  ].join(' · ');
}

function Phase({ phase, number }: { phase: SearchPhase; number: number }) {
  const title = phase.name || (number > 0 ? `Phase ${number + 1}` : 'Search');
  return (
    <section class="phase" aria-label={`Phase ${title}`}>
      <div class="phase-head">
        <h3>{title}</h3>
        <State state={phase.state} />
      </div>
      {phase.state === 'waiting' ? (
        <Callout tone="note">It waits until what it uses has been chosen; nothing of it runs before.</Callout>
      ) : (
        <p class="quiet">{mannerText(phase)}</p>
      )}
      {phase.state === 'ended' && phase.reason !== '' && <p>{phase.reason}</p>}
      {phase.budget.length > 0 && (
        <ul class="budget" aria-label="Budget">
          {phase.budget.map((line) => (
            <BudgetLine key={line.name} line={line} />
          ))}
        </ul>
      )}
      <Choices phase={phase} />
    </section>
  );
}

export function PhasesCard({ search }: { search: Search }) {
  return (
    <Card title={search.phases.length > 1 ? 'Phases and choices' : 'How it goes'} id="search-phases">
      {search.phases.map((phase, i) => (
        <Phase key={i} phase={phase} number={i} />
      ))}
    </Card>
  );
}
