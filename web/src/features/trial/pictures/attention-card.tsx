// Where the trained model looks on images: maps over the image by layer and head, with and without the prior.
import { useEffect, useRef, useState } from 'preact/hooks';
import { choiceQuery, flagQuery, type QueryCodec, textQuery, useQuery } from '@/shared/router';
import { PatchMap } from '@/parts/pictures/patch-map';
import { patchName } from '@/parts/pictures/coloring';
import { SelectField } from '@/shared/ui/fields';
import { Switch } from '@/shared/ui/parts';
import { Callout, Skeleton } from '@/shared/ui/states';
import { useAttention } from './data';
import { DrawnCard } from './drawn-card';
import { HeadChart } from './head-chart';
import { imageRows, type KeptStep } from './picture-data';
import { StageField, stagesOf, useNetworkStage } from './stage-field';
import type { Attention, LookedAt } from '@/parts/pictures/documents';

const openQuery = flagQuery(false);
const offQuery = flagQuery(false);
const imagesQuery = textQuery('0');
const splits = ['test', 'validation', 'train'] as const;
const splitQuery = choiceQuery(splits, 'test');
const patchQuery: QueryCodec<number | null> = {
  read: (text) => (text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null),
  write: (patch) => (patch === null ? null : String(patch)),
};

// The image itself, pixel by pixel.
function Pixels({ of }: { of: LookedAt }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [rows, columns] = of.pixels.extent as [number, number];
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const data = context.createImageData(columns, rows);
    const { channels, values } = of.pixels;
    for (let i = 0; i < rows * columns; i += 1)
      for (let c = 0; c < 4; c += 1)
        data.data[4 * i + c] = c === 3 ? 255 : (values[i * channels + (channels === 3 ? c : 0)] ?? 0);
    context.putImageData(data, 0, 0);
  }, [of]);
  const name = of.class !== '' ? of.class : `label ${of.label}`;
  return (
    <figure class="looked-at">
      <canvas
        ref={canvas}
        width={columns}
        height={rows}
        aria-label={`Image ${of.image}: ${name}`}
        role="img"
      />
      <figcaption>
        {name}
        {of.predicted !== null && of.predicted !== of.label && (
          <span class="quiet"> · taken for {of.predicted}</span>
        )}
      </figcaption>
    </figure>
  );
}

// From 0 to the largest value of one layer's heads: layers differ in order of magnitude.
const largest = (heads: readonly (readonly (readonly (number | null)[])[])[]) =>
  Math.max(1e-9, ...heads.flat(2).map((value) => value ?? 0));

function LayerRow(props: {
  document: Attention;
  layer: Attention['layers'][number];
  image: number;
  off: boolean;
  choose: (patch: number) => void;
}) {
  const { document, layer, image, off, choose } = props;
  const [, setPointed] = useState<number | null>(null);
  const seen = layer.images[image];
  const attended = off ? seen?.without : seen?.with;
  const query = document.queries[0]!;
  const columns = document.grid[1]!;
  if (!seen) return null;
  if (!attended)
    return (
      <p class="quiet attention-none">
        Layer {layer.layer + 1}: no prior takes part in its attention; there is nothing to leave out.
      </p>
    );
  const view = { scale: 'sequential', low: 0, high: largest(attended.queries) };
  return (
    <div class="attention-row">
      <span class="attention-layer">Layer {layer.layer + 1}</span>
      {attended.queries.map((head, i) => (
        <PatchMap
          key={i}
          view={view}
          row={head[0]!}
          grid={document.grid}
          query={query}
          curve={null}
          label={`Layer ${layer.layer + 1}, head ${i + 1}: attention from ${patchName(query, columns)}`}
          point={setPointed}
          choose={choose}
        />
      ))}
    </div>
  );
}

export function AttentionView({
  document,
  choose,
}: {
  document: Attention;
  choose: (patch: number) => void;
}) {
  const [off, setOff] = useQuery('without', offQuery);
  const { layers } = document;
  const distances = (which: 'with' | 'without') =>
    layers.flatMap(({ layer, distance }) => (distance[which] ? [{ layer, values: distance[which] }] : []));
  const scores = layers.flatMap(({ layer, position_score: values }) => (values ? [{ layer, values }] : []));
  const without = distances('without');
  return (
    <>
      {without.length > 0 && <Switch label="Leave the prior out" on={off} set={setOff} />}
      {document.images.map((image, i) => (
        <div key={image.image} class="attention-image">
          <Pixels of={image} />
          <div class="attention-rows">
            {layers.map((layer) => (
              <LayerRow
                key={layer.layer}
                document={document}
                layer={layer}
                image={i}
                off={off && without.length > 0}
                choose={choose}
              />
            ))}
          </div>
        </div>
      ))}
      <p class="map-reading">
        A column for each head, from the patch at <b>{patchName(document.queries[0]!, document.grid[1]!)}</b>.
        Click another to look from there.
      </p>
      <div class="head-charts">
        <HeadChart
          title="Mean attention distance"
          unit="patches"
          series={[
            { label: 'with the prior', hollow: false, layers: distances('with') },
            ...(without.length > 0 ? [{ label: 'without the prior', hollow: true, layers: without }] : []),
          ]}
        />
        {scores.length > 0 && (
          <HeadChart
            title="Position over content"
            unit=""
            series={[{ label: 'above 0 a head leans on position', hollow: false, layers: scores }]}
          />
        )}
      </div>
    </>
  );
}

function Drawn({
  experiment,
  ordinal,
  kept,
}: {
  experiment: string;
  ordinal: number;
  kept: readonly KeptStep[];
}) {
  const [images, setImages] = useQuery('images', imagesQuery);
  const [split, setSplit] = useQuery('split', splitQuery);
  const [query, setQuery] = useQuery('from', patchQuery);
  const [wish, setWish] = useState(images);
  const rows = imageRows(images) ?? [0];
  const step = kept.at(-1)!.step;
  const [stage, setStage] = useNetworkStage();
  const wished = { step, images: rows.join(','), split, query, stage };
  const { data, error } = useAttention(experiment, ordinal, wished);
  const wrong = imageRows(wish) === null;
  return (
    <>
      <form
        class="card-tools"
        onSubmit={(event) => {
          event.preventDefault();
          if (!wrong) setImages(wish);
        }}
      >
        <label class="select-field">
          <span aria-hidden="true">Images</span>
          <input
            class="select image-rows"
            aria-label="Images, by their place in the split"
            aria-invalid={wrong}
            value={wish}
            onInput={(event) => setWish(event.currentTarget.value)}
          />
        </label>
        <SelectField
          label="Split"
          value={split}
          choose={setSplit}
          options={splits.map((value) => ({ value, text: value }))}
        />
        {data && (
          <StageField
            stages={stagesOf(data.model)}
            stage={stage}
            choose={(chosen) => {
              setStage(chosen);
              setQuery(null); // of another grid
            }}
          />
        )}
        <button type="submit" class="button button-small" disabled={wrong}>
          Look
        </button>
      </form>
      {error && <Callout tone="warning">{error.message}.</Callout>}
      {data ? (
        <AttentionView document={data} choose={setQuery} />
      ) : (
        !error && <Skeleton rows={4} height={60} />
      )}
    </>
  );
}

export function AttentionCard(props: { experiment: string; ordinal: number; kept: readonly KeptStep[] }) {
  const [open, setOpen] = useQuery('attention', openQuery);
  const note =
    'Attention of every layer and head on images you choose, with and without the prior, and how far it reaches.';
  return (
    <DrawnCard title="Where it looks" id="attention" open={open} setOpen={setOpen} note={note}>
      <Drawn {...props} />
    </DrawnCard>
  );
}
