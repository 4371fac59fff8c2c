// Over the columns of one metric: mean, interquartile mean with its interval, mean rank, a line per row.
import type { PaperTable } from '@/shared/api/messages';
import { fixed, interval } from '@/shared/format';
import { headingText } from './words';

export function PivotSummaries({ table, digits }: { table: PaperTable; digits: number }) {
  if (table.summaries.length === 0) return null;
  const metrics = [...new Set(table.summaries.map((summary) => summary.metric))];
  return (
    <>
      {metrics.map((metric) => (
        <div
          key={metric}
          class="table-scroll"
          tabIndex={0}
          role="region"
          aria-label={`${metric} across columns`}
        >
          <table class="table table-small">
            <caption class="pivot-caption">{metric} across columns</caption>
            <thead>
              <tr>
                <th scope="col">{table.row_axes.join(' · ') || 'all'}</th>
                <th scope="col" class="number">
                  columns
                </th>
                <th scope="col" class="number">
                  mean
                </th>
                <th scope="col" class="number">
                  interquartile mean
                </th>
                <th scope="col" class="number">
                  {Math.round(100 * table.level)} % interval
                </th>
                <th scope="col" class="number">
                  mean rank
                </th>
              </tr>
            </thead>
            <tbody>
              {table.summaries
                .filter((summary) => summary.metric === metric)
                .map((summary) => (
                  <tr key={summary.row}>
                    <th scope="row">{headingText(table.rows[summary.row]!) || 'all'}</th>
                    <td class="number">
                      {summary.columns === summary.columns_total
                        ? summary.columns
                        : `${summary.columns} of ${summary.columns_total}`}
                    </td>
                    <td class="number">{fixed(summary.mean, digits)}</td>
                    <td class="number">{fixed(summary.iqm, digits)}</td>
                    <td class="number">{interval(summary.iqm_low, summary.iqm_high, digits)}</td>
                    <td class="number">{fixed(summary.mean_rank, 2)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      ))}
    </>
  );
}
