// The interactive picture of a prior: point at a patch and see what it attends to, in every head.
import { useState } from 'preact/hooks';
import { choiceQuery, flagQuery, type QueryCodec, textQuery, useQuery } from '@/shared/router';
import { significant, undefinedMark } from '@/shared/format';
import { SelectField } from '@/shared/ui/fields';
import { Card, Choice } from '@/shared/ui/parts';
import { Skeleton } from '@/shared/ui/states';
import { usePicture } from '../data';
import type { CatalogOption } from '@/parts/catalog';
import { PatchMap } from '@/parts/pictures/patch-map';
import {
  coloring,
  flat,
  moved,
  ownRange,
  patchName,
  type Range,
  ranges,
  tellingView,
  usualPatch,
  usualRange,
  type Value,
} from '@/parts/pictures/coloring';
import type { Picture, PictureView } from '@/parts/pictures/documents';
import { isUsual, settingsQuery } from './settings';
import { SettingsForm } from './settings-form';

const firstView = textQuery('');
const noCurve = textQuery('');
const pinnedQuery = flagQuery(false);
const rangeQuery = choiceQuery(['', ...ranges] as const, ''); // '': as the values need it
const patchQuery: QueryCodec<number | null> = {
  read: (text) => (text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null),
  write: (patch) => (patch === null ? null : String(patch)),
};

// What is said of a head beside its number.
export const headNote = (label: string | undefined) =>
  label === undefined || /^head \d+$/i.test(label) ? '' : label;

const written = (value: Value | undefined) =>
  value === undefined ? undefinedMark : value === null ? 'never' : significant(value, 3);

// The range the colors span: the one asked for, else the one that shows most.
function useRange(view: PictureView): Range {
  const [range] = useQuery('range', rangeQuery);
  return range === '' ? usualRange(view) : range;
}

const rangeTexts: Record<Range, string> = {
  shared: 'the whole range',
  spread: 'the range of the values',
  own: 'each head by itself',
};

function Legend({ view, range }: { view: PictureView; range: Range }) {
  const signed = view.scale === 'diverging';
  if (range === 'own')
    return (
      <div class="map-legend">
        <span class="number">least</span>
        <span class={`map-ramp map-ramp-${signed ? 'diverging' : 'sequential'}`} aria-hidden="true" />
        <span class="number">largest of each head{signed ? '; orange below zero, blue above' : ''}</span>
      </div>
    );
  const { scale, low, high } = coloring(view, 0, range);
  return (
    <div class="map-legend">
      <span class="number">{significant(low, 3)}</span>
      <span class={`map-ramp map-ramp-${scale}`} aria-hidden="true" />
      <span class="number">{significant(high, 3)}</span>
    </div>
  );
}

function Reading(props: {
  view: PictureView;
  columns: number;
  query: number;
  key_: number | null;
  pinned: boolean;
}) {
  const { view, columns, query, key_, pinned } = props;
  const from = patchName(query, columns);
  if (key_ === null || key_ === query)
    return (
      <p class="map-reading" aria-live="polite">
        From the patch at <b>{from}</b>
        {pinned ? ', held: click it again to let go' : '. Click to hold it'}.
      </p>
    );
  const values = view.values.map((head) => written(head[query]?.[key_]));
  return (
    <p class="map-reading" aria-live="polite">
      From <b>{from}</b> to <b>{patchName(key_, columns)}</b>:{' '}
      <span class="number">{values.join(' · ')}</span>
    </p>
  );
}

// Of a picture that shows nothing, what that means.
function Same({ view, patches }: { view: PictureView; patches: number }) {
  const value = view.values[0]?.[0]?.find((each) => each !== null) ?? null;
  const even = value !== null && Math.abs(value * patches - 1) < 0.01;
  return (
    <p class="map-same">
      Every value is {written(value)}
      {even ? ` = 1 / ${patches}: every patch is attended to alike. ` : '. '}
      Without content, or before training, this prior tells no place from another in this view.
    </p>
  );
}

function Tools({ picture, view }: { picture: Picture; view: PictureView }) {
  const [, setView] = useQuery('view', firstView);
  const [curve, setCurve] = useQuery('curve', noCurve);
  const [, setRange] = useQuery('range', rangeQuery);
  const range = useRange(view);
  const usual = usualRange(view);
  const offered = ranges.filter((each) => each !== 'own' || view.values.length > 1);
  return (
    <>
      {!flat(view) && (
        <SelectField
          label="Colors"
          value={range}
          choose={(chosen) => setRange(chosen === usual ? '' : chosen)}
          options={offered.map((value) => ({ value, text: rangeTexts[value] }))}
        />
      )}
      {picture.views.length > 1 && (
        <Choice
          label="What is shown"
          value={view.id}
          choose={(id) => setView(id === tellingView(picture)!.id ? '' : id)}
          options={picture.views.map(({ id, title }) => ({ value: id, text: title }))}
        />
      )}
      {picture.curves.length > 0 && (
        <SelectField
          label="Curve"
          value={curve}
          choose={setCurve}
          options={[
            { value: '', text: 'none' },
            ...picture.curves.map(({ name }) => ({ value: name, text: name })),
          ]}
        />
      )}
    </>
  );
}

export function PriorPictureView({ picture }: { picture: Picture }) {
  const [viewId] = useQuery('view', firstView);
  const [curveName] = useQuery('curve', noCurve);
  const [patch, setPatch] = useQuery('patch', patchQuery);
  const [pinned, setPinned] = useQuery('pin', pinnedQuery);
  const [pointed, setPointed] = useState<number | null>(null);
  const view = picture.views.find((each) => each.id === viewId) ?? tellingView(picture);
  if (!view || view.values.length === 0) return null;
  const range = useRange(view);
  const same = flat(view);
  const [rows, columns] = picture.grid as [number, number];
  const rest = patch !== null && patch < rows * columns ? patch : usualPatch(picture.grid);
  const query = pinned ? rest : (pointed ?? rest);
  const from = patchName(query, columns);
  const several = view.values.length > 1 && !same;
  const curve = picture.curves.find((each) => each.name === curveName)?.path ?? null;
  const choose = (chosen: number) => {
    const letGo = pinned && chosen === rest;
    setPatch(chosen);
    setPinned(!letGo);
  };
  const keys = (event: KeyboardEvent) => {
    const next = moved(rest, event.key, picture.grid);
    if (next === null) return;
    event.preventDefault();
    setPatch(next);
  };
  return (
    <Card
      title="What a patch attends to before any content"
      id="picture"
      tools={<Tools picture={picture} view={view} />}
    >
      <p class="card-note quiet">{view.help}</p>
      {same && <Same view={view} patches={rows * columns} />}
      <div
        class="maps"
        tabIndex={0}
        role="group"
        aria-label={`${view.title} by head; the arrow keys move the patch`}
        onKeyDown={keys}
      >
        {(same ? view.values.slice(0, 1) : view.values).map((head, i) => (
          <figure key={i} class="map">
            <PatchMap
              view={coloring(view, i, range)}
              row={head[query]!}
              grid={picture.grid}
              query={query}
              curve={curve}
              label={`${several ? `Head ${i + 1}: ` : ''}${view.title} from the patch at ${from}`}
              point={setPointed}
              choose={choose}
            />
            <figcaption>
              {several && <b>Head {i + 1}</b>} {headNote(view.heads[i])}
              {range === 'own' && (
                <span class="number quiet">
                  {ownRange(head)
                    .map((end) => significant(end, 3))
                    .join(' to ')}
                </span>
              )}
            </figcaption>
          </figure>
        ))}
      </div>
      <div class="map-foot">
        <Reading view={view} columns={columns} query={query} key_={pinned ? pointed : null} pinned={pinned} />
        {!same && <Legend view={view} range={range} />}
      </div>
      <p class="table-note">
        {[`${rows} × ${columns} patches`, picture.setting].filter((part) => part !== '').join(' · ')}
      </p>
    </Card>
  );
}

// A picture that cannot be had is left out: it illustrates, it does not inform.
export function PriorPicture({ prior, options }: { prior: string; options: readonly CatalogOption[] }) {
  const [settings, setSettings] = useQuery('draw', settingsQuery);
  const { data, error } = usePicture(prior, settings);
  return (
    <>
      {data && <PriorPictureView picture={data} />}
      {error && <p class="table-note">The picture cannot be shown: {error.message}.</p>}
      {!data && !error && <Skeleton rows={3} height={60} />}
      <details class="picture-form" open={!isUsual(settings)}>
        <summary>Draw it with other options, another grid</summary>
        <SettingsForm options={options} settings={settings} draw={setSettings} />
      </details>
    </>
  );
}
