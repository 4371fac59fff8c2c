// Learning curves: mean and band over seeds per cell, single runs on demand, any number of series, values under the
// pointer. How they are looked at is in the address.
import { useState } from 'preact/hooks';
import { useQuery } from '@/shared/router';
import type { Curves, SeriesKey } from '@/shared/api/messages';
import { xAxes } from '@/shared/charts/curve-data';
import { seriesText } from '@/shared/format';
import { SelectField } from '@/shared/ui/fields';
import { Card, Switch } from '@/shared/ui/parts';
import { Popover } from '@/shared/ui/popover';
import { Skeleton } from '@/shared/ui/states';
import { chooseSeries, type MetricContract } from '@/parts/curves/choose-series';
import type { CellSelection } from '@/parts/curves/cell-selection';
import {
  axisNames,
  axisQuery,
  bandQuery,
  bands,
  bandTexts,
  logXQuery,
  logYQuery,
  runsQuery,
  seriesListQuery,
  smoothingQuery,
  zoomQuery,
} from '@/parts/curves/curve-view';
import { useImports } from '../data';
import { lastHalf, type Look, SeriesChart } from './series-chart';
import { SeriesPicker, seriesQuery } from '@/parts/curves/series-picker';

const same = (a: SeriesKey, b: SeriesKey) => seriesQuery.write(a) === seriesQuery.write(b);

function useLook(): Look & { controls: ReturnType<typeof controls> } {
  const [band, setBand] = useQuery('band', bandQuery);
  const [runs, setRuns] = useQuery('runs', runsQuery);
  const [smoothing, setSmoothing] = useQuery('smooth', smoothingQuery);
  const [axis, setAxis] = useQuery('x', axisQuery);
  const [logX, setLogX] = useQuery('logx', logXQuery);
  const [logY, setLogY] = useQuery('logy', logYQuery);
  const [zoom, setZoom] = useQuery('zoom', zoomQuery);
  const look = { band, runs, smoothing, axis, logX, logY, zoom, setZoom };
  return { ...look, controls: controls(look, { setBand, setRuns, setSmoothing, setAxis, setLogX, setLogY }) };
}

interface Setters {
  setBand: (band: Look['band']) => void;
  setRuns: (on: boolean) => void;
  setSmoothing: (value: number) => void;
  setAxis: (axis: Look['axis']) => void;
  setLogX: (on: boolean) => void;
  setLogY: (on: boolean) => void;
}

function controls(look: Look, set: Setters) {
  return (
    <>
      <SelectField
        label="Band"
        value={look.band}
        options={bands.map((value) => ({ value, text: bandTexts[value] }))}
        choose={set.setBand}
      />
      <SelectField
        label="Against"
        value={look.axis}
        options={xAxes.map((value) => ({ value, text: axisNames[value] }))}
        choose={set.setAxis}
      />
      <Switch label="Single runs" on={look.runs} set={set.setRuns} />
      <label class="select-field">
        <span aria-hidden="true">Smooth</span>
        <input
          type="range"
          class="range"
          aria-label="Smoothing"
          min={0}
          max={0.99}
          step={0.01}
          value={look.smoothing}
          onInput={(event) => set.setSmoothing(Number(event.currentTarget.value))}
        />
      </label>
      <Switch label="log x" on={look.logX} set={set.setLogX} />
      <Switch label="log y" on={look.logY} set={set.setLogY} />
    </>
  );
}

// Which further series are drawn below the first.
function MoreSeries({
  keys,
  available,
  choose,
}: {
  keys: readonly SeriesKey[];
  available: readonly SeriesKey[];
  choose: (keys: readonly SeriesKey[]) => void;
}) {
  return (
    <Popover label="More series" icon="plus" {...(keys.length > 1 ? { note: String(keys.length) } : {})}>
      {() => (
        <fieldset class="picker">
          <legend class="off-screen">Series drawn</legend>
          {available.map((key) => (
            <Switch
              key={seriesQuery.write(key)!}
              label={seriesText(key)}
              on={keys.some((each) => same(each, key))}
              set={(on) => choose(on ? [...keys, key] : keys.filter((each) => !same(each, key)))}
            />
          ))}
        </fieldset>
      )}
    </Popover>
  );
}

export function CurvesCard({
  name,
  contract,
  cells,
  unit,
  leaderboardAnswered,
}: {
  name: string;
  contract: MetricContract | undefined; // not read yet
  cells: CellSelection;
  unit: string;
  leaderboardAnswered: boolean;
}) {
  const [asked, choose] = useQuery('series', seriesListQuery);
  const [available, setAvailable] = useState<readonly SeriesKey[]>([]);
  const [first, setFirst] = useState<Curves | null>(null);
  const { controls: shown, ...look } = useLook();
  // An address that names series is about them: they are read at once. Else the leaderboard, above, goes first.
  const usual = contract && leaderboardAnswered ? [chooseSeries(null, contract, available)] : [];
  const keys = asked.length > 0 ? asked : usual;
  const read = (curves: Curves, place: number) => {
    if (curves.available.length > 0 && curves.available.length !== available.length)
      setAvailable(curves.available);
    if (place === 0 && curves !== first) setFirst(curves);
  };
  const { data: imports } = useImports(name);
  const foreign = (key: SeriesKey) =>
    (imports?.imports ?? []).some((run) => run.series.some((each) => each.key && same(each.key, key)));
  const half = first && !look.zoom ? lastHalf(first) : null;
  const tools = keys.length > 0 && (
    <>
      <SeriesPicker
        value={keys[0]!}
        available={available}
        choose={(key) => choose([key, ...keys.slice(1).filter((each) => !same(each, key))])}
      />
      <MoreSeries keys={keys} available={available} choose={choose} />
    </>
  );
  return (
    <Card title="Learning curves" id="curves" class="curves-card" {...(tools ? { tools } : {})}>
      <div class="toolbar toolbar-quiet">
        {shown}
        {half && (
          <button type="button" class="button button-small" onClick={() => look.setZoom(half)}>
            Last half
          </button>
        )}
        {look.zoom && (
          <button type="button" class="button button-small" onClick={() => look.setZoom(null)}>
            Whole curve
          </button>
        )}
      </div>
      {keys.length === 0 && <Skeleton rows={10} height={30} />}
      {keys.map((key, place) => (
        <SeriesChart
          key={place}
          name={name}
          series={key}
          unit={key.metric === contract?.metric ? unit : ''}
          cells={cells}
          look={look}
          foreign={foreign(key)}
          onRead={(curves) => read(curves, place)}
        />
      ))}
    </Card>
  );
}
