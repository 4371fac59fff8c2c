// Learning curves: mean and deviation over seeds per cell, single runs on demand, values under the pointer.
import { useMemo, useState } from 'preact/hooks';
import { flagQuery, useQuery } from '@/app/router';
import type { SeriesKey } from '@/shared/api/types';
import { CurveChart } from '@/shared/charts/curve-chart';
import { assembleCurves } from '@/shared/charts/curve-data';
import { count, seriesText } from '@/shared/format';
import { Card, Switch } from '@/shared/ui/parts';
import { ReadFailure, Stale } from '@/shared/ui/states';
import { chooseSeries, type MetricContract, useCurves } from '../data';
import type { CellSelection } from '../overview';
import { CurveLegend } from './curve-legend';
import { SeriesPicker, seriesQuery } from './series-picker';

const chartHeight = 300;
const band = flagQuery(true);
const runs = flagQuery(false);
const late = flagQuery(false);

function useChosenSeries(contract: MetricContract) {
  const [asked, setAsked] = useQuery('series', seriesQuery);
  const [available, setAvailable] = useState<readonly SeriesKey[]>([]);
  return { key: chooseSeries(asked, contract, available), available, setAvailable, choose: setAsked };
}

export function CurvesCard({
  name,
  contract,
  cells,
  unit,
}: {
  name: string;
  contract: MetricContract;
  cells: CellSelection;
  unit: string;
}) {
  const { key, available, setAvailable, choose } = useChosenSeries(contract);
  const [withBand, setBand] = useQuery('band', band);
  const [withRuns, setRuns] = useQuery('runs', runs);
  const [onlyLate, setLate] = useQuery('late', late);
  const [step, setStep] = useState<number | null>(null);
  const { data, error, readAt, refresh } = useCurves(name, key);
  if (data && data.available !== available && data.available.length > 0) setAvailable(data.available);
  const hiddenKey = [...cells.hidden].join();
  const plot = useMemo(
    () =>
      data && assembleCurves(data, { hidden: cells.hidden, band: withBand, runs: withRuns, late: onlyLate }),
    [data, hiddenKey, withBand, withRuns, onlyLate],
  );
  const named = `${seriesText(key)}${key.metric === contract.metric && unit !== '' ? ` (${unit})` : ''}`;
  const tools = (
    <>
      <SeriesPicker value={key} available={available} choose={choose} />
      <Switch label="± std" on={withBand} set={setBand} />
      <Switch label="Single runs" on={withRuns} set={setRuns} />
      <Switch label="Last half" on={onlyLate} set={setLate} />
    </>
  );
  return (
    <Card title="Learning curves" id="curves" class="curves-card" tools={tools}>
      {data && <Stale error={error} readAt={readAt} />}
      <p class="axis-caption">
        <span>{named}</span>
        <span class="number">{step === null ? 'latest' : `step ${count(step)}`}</span>
      </p>
      <div class="chart-box" style={{ minHeight: `${chartHeight}px` }}>
        {!data && error && <ReadFailure what="The curves" error={error} retry={refresh} />}
        {data && plot && plot.steps.length > 0 && (
          <CurveChart
            plot={plot}
            focus={cells.focus}
            height={chartHeight}
            onStep={setStep}
            label={`Learning curves of ${named} against training steps; the values are in the list below.`}
          />
        )}
        {data && plot && plot.steps.length === 0 && (
          <p class="chart-empty">
            {data.cells.length > 0 && cells.hidden.size > 0
              ? 'All cells are hidden. Choose some below.'
              : `No points of ${seriesText(key)} yet.`}
          </p>
        )}
      </div>
      {data && <CurveLegend curves={data} step={step} cells={cells} />}
      {plot && plot.marks.length > 0 && (
        <p class="table-note">A cross at the edge marks a value that is not a finite number (NaN or ∞).</p>
      )}
    </Card>
  );
}
