// How much of the spread of the values each factor explains, with its interval.
import type { Importance } from '@/shared/api/messages';
import { interval, percent, plural } from '@/shared/format';
import { linearScale } from '@/shared/charts/scales';
import { Card } from '@/shared/ui/parts';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { useImportance } from './data';

const width = 220;
const height = 22;

const share = (value: number) => (Number.isFinite(value) ? percent(value, 1) : '—');

function Bar({ path, value, low, high }: { path: string; value: number; low: number; high: number }) {
  const x = linearScale(0, 1, 4, width - 4);
  const middle = height / 2;
  const ends = Number.isFinite(low) && Number.isFinite(high);
  const said = `${path}: ${share(value)}${ends ? `, between ${share(low)} and ${share(high)}` : ''}`;
  return (
    <svg class="importance-bar" width={width} height={height} role="img" aria-label={said}>
      <rect class="importance-whole" x={4} y={4} width={width - 8} height={height - 8} />
      {Number.isFinite(value) && (
        <rect
          class="importance-share"
          x={4}
          y={4}
          width={Math.max(0, x(Math.min(1, Math.max(0, value))) - 4)}
          height={height - 8}
        />
      )}
      {ends && (
        <path
          class="interval-whisker"
          d={`M${x(low)} ${middle}H${x(high)}M${x(low)} ${middle - 4}v8M${x(high)} ${middle - 4}v8`}
        />
      )}
    </svg>
  );
}

export function ImportanceTable({ importance }: { importance: Importance }) {
  const { factors, unexplained, units, note, metric, split } = importance;
  return (
    <>
      {factors.length === 0 ? (
        <p class="chart-empty">Too few units have a value to say what matters.</p>
      ) : (
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Importance of factors">
          <table class="table table-small importance">
            <thead>
              <tr>
                <th scope="col">Factor</th>
                <th scope="col">Share of the variance</th>
                <th scope="col" class="number">
                  Share
                </th>
                <th scope="col" class="number">
                  95 % interval
                </th>
              </tr>
            </thead>
            <tbody>
              {factors.map(({ path, share: value, low, high }) => (
                <tr key={path}>
                  <th scope="row">{path}</th>
                  <td>
                    <Bar path={path} value={value} low={low} high={high} />
                  </td>
                  <td class="number">{share(value)}</td>
                  <td class="number">{interval(100 * low, 100 * high, 0)}</td>
                </tr>
              ))}
              <tr>
                <th scope="row">unexplained</th>
                <td />
                <td class="number">{share(unexplained)}</td>
                <td />
              </tr>
            </tbody>
          </table>
        </div>
      )}
      <p class="table-note">
        {metric} on {split}, {plural(units, 'unit')}. {note}
      </p>
    </>
  );
}

export function ImportanceCard({ experiment }: { experiment: string }) {
  const { data, error, readAt, refresh } = useImportance(experiment);
  return (
    <Card title="What matters" id="search-importance">
      {data && <Stale error={error} readAt={readAt} />}
      {!data && error && <ReadFailure what="The importance of factors" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={3} height={26} />}
      {data && <ImportanceTable importance={data} />}
    </Card>
  );
}
