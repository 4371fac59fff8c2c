// What an experiment says of printed numbers, in counts: a row a paper, or a row a table of one.
import { hrefs } from '@/shared/hrefs';
import { Card } from '@/shared/ui/parts';
import { saysSomething } from '@/parts/claims/data';
import type { ClaimSummary } from '@/shared/api/messages';

const headings = ['Numbers', 'Agrees', 'Contradicts', 'Undecided', 'Same way', 'Other way', 'Open'] as const;

const countsOf = (of: ClaimSummary) => [
  of.numbers,
  of.agrees,
  of.contradicts,
  of.undecided,
  of.same_direction,
  of.opposite_direction,
  of.open_direction,
];

const grouped = (n: number) => n.toLocaleString('en-US');

function Why({ of }: { of: ClaimSummary }) {
  const differs = of.settings.map((each) => `${each.name} ${grouped(each.count)}`).join(', ');
  return (
    <td class="claim-why">
      {grouped(of.not_comparable)}
      {of.why.length > 0 && ': '}
      {of.why.map((each, i) => (
        <span key={each.name} title={each.name === 'setting' ? differs : undefined}>
          {i > 0 && ', '}
          {grouped(each.count)} {each.text}
        </span>
      ))}
    </td>
  );
}

// `paper` empty: all papers.
export function ClaimsSummary({
  summaries,
  experiment,
  paper,
}: {
  summaries: readonly ClaimSummary[];
  experiment: string;
  paper: string;
}) {
  const whole = summaries.filter((each) => each.table === '' && (paper === '' || each.paper === paper));
  const tables = summaries.filter((each) => each.table !== '' && each.paper === paper);
  const shown = paper === '' ? whole : tables.filter(saysSomething);
  const silent = paper === '' ? [] : tables.filter((each) => !saysSomething(each));
  const differs = new Map<string, number>();
  for (const each of whole)
    for (const one of each.settings) differs.set(one.name, (differs.get(one.name) ?? 0) + one.count);
  const settings = [...differs].sort(([, a], [, b]) => b - a);
  const title = paper === '' ? 'What it says of the papers' : 'Table by table';
  if (whole.length === 0) return null;
  return (
    <Card title={title} id={paper === '' ? 'claim-counts' : `claim-counts-${paper}`} class="claim-card">
      {shown.length > 0 && (
        <div class="table-scroll" tabIndex={0} role="region" aria-label={title}>
          <table class="table table-small claim-counts">
            <thead>
              <tr>
                <th scope="col">{paper === '' ? 'Paper' : 'Table'}</th>
                {headings.map((each) => (
                  <th key={each} scope="col" class="number">
                    {each}
                  </th>
                ))}
                <th scope="col">Not comparable</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((each) => (
                <tr key={each.paper + each.table}>
                  <th scope="row">
                    {paper === '' ? (
                      <a href={hrefs.claims(experiment, each.paper)}>{each.paper}</a>
                    ) : (
                      each.table
                    )}
                  </th>
                  {countsOf(each).map((count, i) => (
                    <td key={headings[i]} class="number">
                      {grouped(count)}
                    </td>
                  ))}
                  <Why of={each} />
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div class="table-note">
        {silent.length > 0 && <p>Nothing measured of {silent.map((each) => each.table).join(', ')}.</p>}
        {settings.length > 0 && (
          <p>
            Another setting: {settings.map(([name, count]) => `${name} ${grouped(count)}`).join(', ')}. Same
            way, other way, open: of these, where the 95 % interval of the measured difference lies.
          </p>
        )}
      </div>
    </Card>
  );
}
