// The interactive picture of a prior: point at a patch and see what it attends to, in every head.
import { useState } from 'preact/hooks';
import { choiceQuery, flagQuery, type QueryCodec, textQuery, useQuery } from '@/app/router';
import { significant, undefinedMark } from '@/shared/format';
import { SelectField } from '@/shared/ui/fields';
import { Card, Choice } from '@/shared/ui/parts';
import { Skeleton } from '@/shared/ui/states';
import { usePicture } from '../data';
import { PatchMap } from './patch-map';
import {
  hidden,
  moved,
  ownRange,
  patchName,
  type Picture,
  type PictureView,
  type Value,
} from './picture-data';

const firstView = textQuery('');
const noCurve = textQuery('');
const pinnedQuery = flagQuery(false);
const ranges = ['', 'shared', 'own'] as const; // '': as the values need it
const rangeQuery = choiceQuery(ranges, '');
const patchQuery: QueryCodec<number | null> = {
  read: (text) => (text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null),
  write: (patch) => (patch === null ? null : String(patch)),
};

// What is said of a head beside its number.
export const headNote = (label: string | undefined) =>
  label === undefined || /^head \d+$/i.test(label) ? '' : label;

const written = (value: Value | undefined) =>
  value === undefined ? undefinedMark : value === null ? 'never' : significant(value, 3);

// Not the middle: what differs by direction shows better from a place with all of it around.
const usualPatch = ([rows, columns]: readonly number[]) =>
  Math.floor(rows! / 2) * columns! + Math.floor(columns! / 3);

// Whether each head is shown over its own range.
function useOwnRange(view: PictureView): boolean {
  const [range] = useQuery('range', rangeQuery);
  return view.values.length > 1 && (range === 'own' || (range === '' && hidden(view)));
}

// The view as one head's map sees it.
function viewOf(view: PictureView, head: number, own: boolean): PictureView {
  if (!own) return view;
  const [low, high] = ownRange(view.values[head]!);
  return { ...view, scale: 'sequential', low, high };
}

function Legend({ view, own }: { view: PictureView; own: boolean }) {
  if (own)
    return (
      <div class="map-legend">
        <span class="number">least</span>
        <span class="map-ramp map-ramp-sequential" aria-hidden="true" />
        <span class="number">largest of each head</span>
      </div>
    );
  return (
    <div class="map-legend">
      <span class="number">{significant(view.low, 3)}</span>
      <span class={`map-ramp map-ramp-${view.scale}`} aria-hidden="true" />
      <span class="number">{significant(view.high, 3)}</span>
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

function Tools({ picture, view }: { picture: Picture; view: PictureView }) {
  const [, setView] = useQuery('view', firstView);
  const [curve, setCurve] = useQuery('curve', noCurve);
  const [, setRange] = useQuery('range', rangeQuery);
  const own = useOwnRange(view);
  const usual = hidden(view) ? 'own' : 'shared';
  return (
    <>
      {view.values.length > 1 && (
        <SelectField
          label="Colors"
          value={own ? 'own' : 'shared'}
          choose={(range) => setRange(range === usual ? '' : (range as 'own' | 'shared'))}
          options={[
            { value: 'shared', text: 'one range for all heads' },
            { value: 'own', text: 'each head by itself' },
          ]}
        />
      )}
      {picture.views.length > 1 && (
        <Choice
          label="What is shown"
          value={view.id}
          choose={(id) => setView(id === picture.views[0]!.id ? '' : id)}
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
  const view = picture.views.find((each) => each.id === viewId) ?? picture.views[0];
  if (!view || view.values.length === 0) return null;
  const own = useOwnRange(view);
  const [rows, columns] = picture.grid as [number, number];
  const rest = patch !== null && patch < rows * columns ? patch : usualPatch(picture.grid);
  const query = pinned ? rest : (pointed ?? rest);
  const from = patchName(query, columns);
  const several = view.values.length > 1;
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
      <div
        class="maps"
        tabIndex={0}
        role="group"
        aria-label={`${view.title} by head; the arrow keys move the patch`}
        onKeyDown={keys}
      >
        {view.values.map((head, i) => (
          <figure key={i} class="map">
            <PatchMap
              view={viewOf(view, i, own)}
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
              {own && (
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
        <Legend view={view} own={own} />
      </div>
      <p class="table-note">
        {[`${rows} × ${columns} patches`, picture.setting].filter((part) => part !== '').join(' · ')}
      </p>
    </Card>
  );
}

// A picture that cannot be had is left out: it illustrates, it does not inform.
export function PriorPicture({ prior }: { prior: string }) {
  const { data, error } = usePicture(prior);
  if (data) return <PriorPictureView picture={data} />;
  if (error) return <p class="table-note">The picture cannot be shown: {error.message}.</p>;
  return <Skeleton rows={3} height={60} />;
}
