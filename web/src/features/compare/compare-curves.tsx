// The curves of the items, one over the other.
import { useMemo, useState } from 'preact/hooks';
import { flagQuery, numberSetQuery, useQuery } from '@/shared/router';
import { CurveLegend } from '@/parts/curves/curve-legend';
import { SeriesPicker, seriesQuery } from '@/parts/curves/series-picker';
import { chooseSeries } from '@/parts/curves/choose-series';
import type { Curves } from '@/shared/api/messages';
import { CurveChart } from '@/shared/charts/curve-chart';
import { assembleCurves } from '@/shared/charts/curve-data';
import { count, seriesText } from '@/shared/format';
import { Card, Switch } from '@/shared/ui/parts';
import { ReadFailure, Skeleton } from '@/shared/ui/states';
import { type Compared, itemCurves, useCurvesOf } from './data';

const band = flagQuery(true);
const runs = flagQuery(false);
const height = 300;

export function CompareCurves({ comparison, names, looks }: Compared) {
  const [asked, choose] = useQuery('series', seriesQuery);
  const [withBand, setBand] = useQuery('band', band);
  const [withRuns, setRuns] = useQuery('runs', runs);
  const [hidden, setHidden] = useQuery('hide', numberSetQuery);
  const [focus, setFocus] = useState<number | null>(null);
  const [step, setStep] = useState<number | null>(null);
  const [available, setAvailable] = useState<Curves['available']>([]);
  const contract = { metric: comparison.metric, reports: comparison.split, selectsOn: 'validation' };
  const key = chooseSeries(asked, contract, available);
  const { data, error, refresh } = useCurvesOf(
    comparison.items.map((item) => item.name),
    key,
  );
  const items = comparison.items.map((item, i) => ({ ...item, label: names[i]!, look: looks[i]! }));
  const found = useMemo(() => data && itemCurves(items, data), [data, names.join()]);
  if (found && found.available.length > 0 && found.available.length !== available.length)
    setAvailable(found.available);
  const hiddenKey = [...hidden].join();
  const plot = useMemo(
    () => found && assembleCurves(found, { hidden, band: withBand, runs: withRuns }),
    [found, hiddenKey, withBand, withRuns],
  );
  const toggle = (place: number) => {
    const next = new Set(hidden);
    if (!next.delete(place)) next.add(place);
    setHidden(next);
  };
  const tools = (
    <>
      <SeriesPicker value={key} available={available} choose={choose} />
      <Switch label="± std" on={withBand} set={setBand} />
      <Switch label="Single runs" on={withRuns} set={setRuns} />
    </>
  );
  return (
    <Card title="Learning curves" id="curves" tools={tools}>
      <p class="axis-caption">
        <span>{seriesText(key)}</span>
        <span class="number">{step === null ? 'latest' : `step ${count(Math.round(step))}`}</span>
      </p>
      <div class="chart-box" style={{ minHeight: `${height}px` }}>
        {!data && error && <ReadFailure what="The curves" error={error} retry={refresh} />}
        {!data && !error && <Skeleton rows={5} height={30} />}
        {plot && plot.x && (
          <CurveChart
            plot={plot}
            focus={focus}
            height={height}
            onPlace={setStep}
            wholeNumbers
            label={`${seriesText(key)} of the items compared, against training steps.`}
          />
        )}
        {plot && !plot.x && <p class="chart-empty">No points of {seriesText(key)}.</p>}
      </div>
      {found && <CurveLegend curves={found} place={step} cells={{ hidden, toggle, focus, setFocus }} />}
    </Card>
  );
}
