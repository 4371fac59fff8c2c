// The results of the items: the metric compared with its paired differences, and every other result.
import { useRef } from 'preact/hooks';
import { hrefs } from '@/shared/hrefs';
import type { ComparedItem, Comparison, PairedDifference } from '@/shared/api/messages';
import { svgOf } from '@/shared/charts/figure';
import type { Look } from '@/shared/palette';
import { pairedCsv, type PairedItem, PairedPlot } from '@/shared/charts/paired-plot';
import {
  decimalsFor,
  interval,
  meanStdText,
  plural,
  pValue,
  seriesText,
  resultText,
  shortenedApart,
  signed,
  undefinedMark,
} from '@/shared/format';
import { Explain } from '@/shared/ui/explain';
import { FigureMenu } from '@/shared/charts/figure-menu';
import { Card, Swatch } from '@/shared/ui/parts';
import { Callout } from '@/shared/ui/states';
import { type Compared, headingRoom } from './data';

const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;

// The compared metric's own line among all results.
function primaryOf(comparison: Comparison) {
  const { metric, split, labels } = comparison;
  return comparison.results.find(
    ({ key }) => key.metric === metric && key.split === split && key.labels === labels,
  );
}

const hrefOf = (item: ComparedItem) =>
  item.kind === 'trial'
    ? hrefs.trial(item.experiment, item.trials[0] ?? 0)
    : hrefs.experiment(item.experiment);

function Difference({ paired, decimals }: { paired: PairedDifference | undefined; decimals: number }) {
  if (!paired || paired.n === 0) return <span class="quiet">no pair</span>;
  return (
    <span class="difference">
      <b>{signed(paired.mean, decimals)}</b>
      <small>{interval(paired.low, paired.high, decimals)}</small>
    </span>
  );
}

function P({ paired }: { paired: PairedDifference | undefined }) {
  if (!paired || Number.isNaN(paired.p_sign_flip)) return <>{undefinedMark}</>;
  const reached = paired.p_sign_flip <= paired.p_floor * (1 + 1e-9);
  const text =
    `Exact sign-flip test over ${plural(paired.n, 'pair')}; the lowest p that many pairs can reach is ` +
    `${pValue(paired.p_floor)}. Paired t-test: p = ${pValue(paired.p_t)}. Not corrected for several comparisons.`;
  return (
    <Explain term="p" text={text}>
      <span class="p-value">
        {pValue(paired.p_sign_flip)}
        <small>{reached ? 'at floor' : `floor ${pValue(paired.p_floor)}`}</small>
      </span>
    </Explain>
  );
}

function ItemRow(props: {
  item: ComparedItem;
  place: number;
  look: Look | null;
  name: string;
  title: string; // the name, or what of it tells the item from the others
  shown: string;
  paired: PairedDifference | undefined;
  decimals: number;
}) {
  const { item, place, look, name, title, shown, paired, decimals } = props;
  return (
    <tr>
      <td class="number quiet">{place + 1}</td>
      <th scope="row">
        <a class="cell-name" href={hrefOf(item)}>
          <Swatch look={look} />
          <span class="cell-label" title={name}>
            {title}
          </span>
        </a>
      </th>
      <td class="number">{item.values.length}</td>
      <td class="number">
        <b>{shown}</b>
      </td>
      <td class="number">
        {place === 0 ? (
          <span class="quiet">reference</span>
        ) : (
          <Difference paired={paired} decimals={decimals} />
        )}
      </td>
      <td class="number">{place === 0 ? '' : <P paired={paired} />}</td>
    </tr>
  );
}

export function ComparePaired({ comparison, names, looks }: Compared) {
  const { items, unit, metric, split, labels, paired } = comparison;
  const primary = primaryOf(comparison);
  const decimals = decimalsFor(paired.map((each) => each.std));
  const plotted: PairedItem[] = items.map((item, i) => ({
    label: names[i]!,
    look: looks[i]!,
    values: item.values,
  }));
  const shown = (item: ComparedItem, i: number) => {
    if (item.values.length === 0) return undefinedMark;
    const values = item.values.map((each) => each.value);
    return meanStdText(primary?.mean[i] ?? mean(values), primary?.std[i] ?? NaN, decimals);
  };
  const title = seriesText({ metric, split, labels });
  const short = shortenedApart(names, 34);
  const box = useRef<HTMLDivElement>(null);
  const tools = plotted.some((item) => item.values.length > 0) && (
    <FigureMenu
      name={`paired-${metric}-${split}`}
      svg={(scheme) =>
        svgOf(box.current!.querySelector('svg.figure')!, {
          title: `${title}, seed by seed`,
          legend: plotted,
          scheme,
          yName: title,
        })
      }
      csv={() => pairedCsv(plotted)}
    />
  );
  return (
    <Card
      title={`${title}${unit === '' ? '' : ` (${unit})`}`}
      id="results"
      class="compare-results"
      {...(tools ? { tools } : {})}
    >
      <div class="compare-pair">
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Results by item">
          <table class="table table-small compared">
            <thead>
              <tr>
                <th scope="col" class="number">
                  <span class="off-screen">Number</span>
                </th>
                <th scope="col">Item</th>
                <th scope="col" class="number">
                  n
                </th>
                <th scope="col" class="number">
                  Mean ± std
                </th>
                <th scope="col" class="number">
                  Paired difference
                </th>
                <th scope="col" class="number">
                  p
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map((item, i) => (
                <ItemRow
                  key={item.name}
                  item={item}
                  place={i}
                  look={looks[i]!}
                  name={names[i]!}
                  title={short[i]!}
                  shown={shown(item, i)}
                  paired={paired.find((each) => each.item === i)}
                  decimals={decimals}
                />
              ))}
            </tbody>
          </table>
        </div>
        <div ref={box}>
          <PairedPlot items={plotted} label={`${title} seed by seed; one line per seed.`} />
        </div>
      </div>
      {comparison.warnings.map((warning) => (
        <Callout key={warning} tone="warning">
          {warning}
        </Callout>
      ))}
      <p class="table-note">
        One line per seed: equal seeds share data order, augmentation and common initial weights. Differences
        are from {names[0]}; in brackets the 95 % interval.
      </p>
    </Card>
  );
}

export function AllResults({ comparison, names, looks }: Compared) {
  if (comparison.results.length === 0) return null;
  const short = shortenedApart(names, headingRoom(names));
  return (
    <Card title="All results" id="all-results">
      <div class="table-scroll" tabIndex={0} role="region" aria-label="All results by item">
        <table class="table table-small">
          <thead>
            <tr>
              <th scope="col">Result</th>
              {names.map((name, i) => (
                <th key={i} scope="col" class="number" title={name}>
                  <span class="item-mark">
                    <Swatch look={looks[i]!} />
                    {short[i]}
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {comparison.results.map(({ key, reducer, mean: means, std }) => (
              <tr key={`${seriesText(key)} ${reducer}`}>
                <th scope="row">
                  {seriesText(key)} <small>{reducer}</small>
                </th>
                {means.map((value, i) => (
                  <td key={i} class="number">
                    {resultText(value, std[i] ?? NaN)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
