// What is asked of the pivot table: the state of the pivot, in the address, and as the body of the call.
import { choiceQuery, flagQuery, type QueryCodec, useQuery } from '@/shared/router';

export interface MetricWish {
  metric: string;
  split: string; // empty: the contract's, as is what follows
  reduce: string;
  labels: string;
}

export interface Filter {
  axis: string;
  values: readonly string[]; // any of them
}

export const tests = ['sign-flip', 'paired-t', 'welch'] as const;
export const corrections = ['holm', 'none'] as const;
export const spreads = ['std', 'interval', 'none'] as const;
export const formats = ['latex', 'markdown', 'csv', 'json', 'html'] as const;
export type Format = (typeof formats)[number];

export interface PivotRequest {
  rows: readonly string[]; // axes; empty: as the server chooses
  columns: readonly string[];
  metrics: readonly MetricWish[];
  where: readonly Filter[];
  test: (typeof tests)[number];
  correction: (typeof corrections)[number];
  spread: (typeof spreads)[number];
  level: number;
  alpha: number;
  digits: number;
  differences: boolean;
  detect: number; // 0: not asked
}

export const usualRequest: PivotRequest = {
  rows: [],
  columns: [],
  metrics: [],
  where: [],
  test: 'sign-flip',
  correction: 'holm',
  spread: 'std',
  level: 0.95,
  alpha: 0.05,
  digits: 2,
  differences: false,
  detect: 0,
};

// Parts joined by a sign that no part holds after encoding.
const encode = (part: string) =>
  encodeURIComponent(part).replace(/[~,;!]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
const decode = (part: string) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
};
const split = (text: string | null, sign: string) => (text ?? '').split(sign).filter((part) => part !== '');

export const axesQuery: QueryCodec<readonly string[]> = {
  read: (text) => [...new Set(split(text, ',').map(decode))].filter((axis) => axis !== ''),
  write: (axes) => axes.map(encode).join(',') || null,
};

// "top1~test~last,loss~validation"
export const metricsQuery: QueryCodec<readonly MetricWish[]> = {
  read: (text) =>
    split(text, ',').flatMap((part) => {
      const [metric = '', where = '', reduce = '', labels = ''] = part.split('~').map(decode);
      return metric === '' ? [] : [{ metric, split: where, reduce, labels }];
    }),
  write: (metrics) =>
    metrics
      .map((wish) =>
        [wish.metric, wish.split, wish.reduce, wish.labels].map(encode).join('~').replace(/~+$/, ''),
      )
      .join(',') || null,
};

// "prior~rope-axial~none;dataset~cifar-10"
export const whereQuery: QueryCodec<readonly Filter[]> = {
  read: (text) =>
    split(text, ';').flatMap((part) => {
      const [axis = '', ...values] = part.split('~').map(decode);
      return axis === '' || values.length === 0 ? [] : [{ axis, values }];
    }),
  write: (where) =>
    where
      .filter((filter) => filter.values.length > 0)
      .map((filter) => [filter.axis, ...filter.values].map(encode).join('~'))
      .join(';') || null,
};

// A number within bounds; anything else is the usual one.
export const numberQuery = (usual: number, low: number, high: number): QueryCodec<number> => ({
  read: (text) => {
    const value = text === null || text.trim() === '' ? NaN : Number(text);
    return value >= low && value <= high ? value : usual;
  },
  write: (value) => (value === usual || Number.isNaN(value) ? null : String(value)),
});

const testQuery = choiceQuery(tests, usualRequest.test);
const correctionQuery = choiceQuery(corrections, usualRequest.correction);
const spreadQuery = choiceQuery(spreads, usualRequest.spread);
const levelQuery = numberQuery(usualRequest.level, 0.5, 0.999);
const alphaQuery = numberQuery(usualRequest.alpha, 0.0001, 0.5);
const digitsQuery = numberQuery(usualRequest.digits, 1, 6);
const differencesQuery = flagQuery(false);
const detectQuery = numberQuery(0, 0, 1e6);

export interface PivotState {
  request: PivotRequest;
  set: { [K in keyof PivotRequest]: (value: PivotRequest[K]) => void };
}

// Where each part stands in the address.
const places: { [K in keyof PivotRequest]: readonly [string, QueryCodec<PivotRequest[K]>] } = {
  rows: ['rows', axesQuery],
  columns: ['cols', axesQuery],
  metrics: ['metrics', metricsQuery],
  where: ['where', whereQuery],
  test: ['test', testQuery],
  correction: ['correct', correctionQuery],
  spread: ['spread', spreadQuery],
  level: ['level', levelQuery],
  alpha: ['alpha', alphaQuery],
  digits: ['digits', digitsQuery],
  differences: ['delta', differencesQuery],
  detect: ['detect', detectQuery],
};
const parts = Object.entries(places) as [keyof PivotRequest, readonly [string, QueryCodec<unknown>]][];

export const requestFrom = (query: URLSearchParams): PivotRequest =>
  Object.fromEntries(
    parts.map(([part, [key, codec]]) => [part, codec.read(query.get(key))]),
  ) as unknown as PivotRequest;

export function usePivotRequest(): PivotState {
  const states = parts.map(([part, [key, codec]]) => [part, useQuery(key, codec)] as const); // always as many
  return {
    request: Object.fromEntries(states.map(([part, [value]]) => [part, value])),
    set: Object.fromEntries(states.map(([part, [, set]]) => [part, set])),
  } as unknown as PivotState;
}

// GetPaperTableRequest as JSON. An export is the same call with a format.
export const bodyOf = (experiments: readonly string[], request: PivotRequest, format?: Format) => ({
  experiments,
  ...request,
  ...(format ? { format } : {}),
});

export type Place = 'rows' | 'columns' | 'out';

// Moves an axis to the rows, the columns or out of the table. Rows that the server chose become explicit first, so
// that moving one does not move the others.
export function placed(
  request: Pick<PivotRequest, 'rows' | 'columns'>,
  shown: { row_axes: readonly string[]; column_axes: readonly string[] },
  axis: string,
  place: Place,
): Pick<PivotRequest, 'rows' | 'columns'> {
  const without = (axes: readonly string[]) => axes.filter((each) => each !== axis);
  const rows = without(request.rows.length > 0 ? request.rows : shown.row_axes);
  const columns = without(request.columns);
  if (place === 'rows') return { rows: [...rows, axis], columns };
  if (place === 'columns') return { rows, columns: [...columns, axis] };
  return { rows, columns };
}

// The filter of an axis with one value more or less; nothing ticked means no filter.
export function filtered(
  where: readonly Filter[],
  axis: string,
  value: string,
  on: boolean,
): readonly Filter[] {
  const before = where.find((filter) => filter.axis === axis)?.values ?? [];
  const values = on ? [...before, value] : before.filter((each) => each !== value);
  const others = where.filter((filter) => filter.axis !== axis);
  return values.length === 0 ? others : [...others, { axis, values }];
}
