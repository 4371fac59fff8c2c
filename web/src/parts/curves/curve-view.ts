// How the curves are looked at, and how the address says so.
import { choiceQuery, flagQuery, type QueryCodec } from '@/shared/router';
import type { SeriesKey } from '@/shared/api/messages';
import { xAxes } from '@/shared/charts/curve-data';
import { seriesQuery } from './series-picker';

export const bands = ['std', 'interval', 'none'] as const;
export type Band = (typeof bands)[number];

export const bandTexts: Record<Band, string> = {
  std: '± std',
  interval: '95 % interval',
  none: 'no band',
};

// Said in the legend: what the band is.
export const bandMeanings: Record<Band, string> = {
  std: 'band: mean ± sample standard deviation over the seeds',
  interval: 'band: 95 % Student-t interval of the mean over the seeds',
  none: 'no band',
};

export const axisNames = {
  step: 'step',
  epoch: 'epoch',
  images: 'images seen',
  seconds: 'seconds of training',
} as const;

export const bandQuery = choiceQuery(bands, 'std');
export const axisQuery = choiceQuery(xAxes, 'step');
export const runsQuery = flagQuery(false);
export const logXQuery = flagQuery(false);
export const logYQuery = flagQuery(false);

// 0 to 99, in hundredths.
export const smoothingQuery: QueryCodec<number> = {
  read: (text) => (/^\d{1,2}$/.test(text ?? '') ? Number(text) / 100 : 0),
  write: (value) => (value > 0 ? String(Math.round(100 * value)) : null),
};

export interface Zoom {
  from: number;
  to: number; // 0: to the end
}

// "200-900", "200-" in steps.
export const zoomQuery: QueryCodec<Zoom | null> = {
  read: (text) => {
    const found = /^(\d+)-(\d*)$/.exec(text ?? '');
    if (!found) return null;
    const zoom = { from: Number(found[1]), to: Number(found[2]) };
    return zoom.to !== 0 && zoom.to <= zoom.from ? null : zoom;
  },
  write: (zoom) => (zoom && (zoom.from > 0 || zoom.to > 0) ? `${zoom.from}-${zoom.to || ''}` : null),
};

// Several series, one chart each; labels may hold commas, so parts are apart by a bar.
export const seriesListQuery: QueryCodec<readonly SeriesKey[]> = {
  read: (text) => (text ?? '').split('|').flatMap((part) => seriesQuery.read(part || null) ?? []),
  write: (keys) => keys.map((key) => seriesQuery.write(key)).join('|') || null,
};
