// On an experiment's page: which papers its cells say something about. Nothing where they say nothing.
import { hrefs } from '@/shared/hrefs';
import { plural } from '@/shared/format';
import { Card } from '@/shared/ui/parts';
import './claims.css';
import { matchesOf, useMatchedClaims } from './data';

export function ClaimsCard({ experiment }: { experiment: string }) {
  const { data } = useMatchedClaims(experiment);
  if (!data || data.tables.length === 0) return null;
  const papers = data.papers
    .map((paper) => {
      const tables = data.tables.filter((table) => table.paper === paper.id);
      return { paper, tables: tables.length, numbers: tables.flatMap(matchesOf).length };
    })
    .filter((each) => each.tables > 0);
  return (
    <Card title="What papers claim" id="claims-of-experiment">
      <ul class="claim-papers">
        {papers.map(({ paper, tables, numbers }) => (
          <li key={paper.id}>
            <a href={hrefs.claims(experiment, paper.id)}>{paper.title}</a>
            <small>
              {plural(numbers, 'number')} in {plural(tables, 'table')}
            </small>
          </li>
        ))}
      </ul>
    </Card>
  );
}
