// The results of an experiment: leaderboard, learning curves and sweep, which share the chosen cells.
import { useCellSelection } from '@/parts/curves/cell-selection';
import { textQuery, useQuery } from '@/shared/router';
import { ClaimsCard } from '@/parts/claims/claims-card';
import type { Experiment } from '@/shared/api/messages';
import { WhenNear } from '@/shared/ui/when-near';
import { CurvesCard } from './curves/curves-card';
import { useTableOf } from './data';
import { contractOf } from '@/parts/curves/choose-series';
import { Leaderboard } from './leaderboard/leaderboard';
import { SweepCard, sweeps } from './sweep/sweep-card';

const noLabels = textQuery('');

// What is read does not wait for the experiment itself, but for what needs its contract.
export function Overview({ name, experiment }: { name: string; experiment: Experiment | undefined }) {
  const cells = useCellSelection();
  const [labels, setLabels] = useQuery('at', noLabels);
  const table = useTableOf(name, labels);
  const contract = experiment && contractOf(experiment.spec_json, experiment.primary_metric);
  const answered = table.data !== undefined || table.error !== undefined;
  return (
    <>
      <Leaderboard
        name={name}
        live={table}
        labels={labels}
        setLabels={setLabels}
        cells={cells}
        active={experiment?.state === 'active'}
      />
      <div class="charts">
        <CurvesCard
          name={name}
          contract={contract}
          cells={cells}
          unit={table.data?.unit ?? ''}
          leaderboardAnswered={answered}
        />
        {(!table.data || sweeps(table.data)) && <SweepCard live={table} cells={cells} />}
      </div>
      {answered && (
        <WhenNear>
          <ClaimsCard experiment={name} />
        </WhenNear>
      )}
    </>
  );
}
