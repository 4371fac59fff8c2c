// What the prior became: every head's maps at initialization and at a checkpoint that was kept, side by side.
import { useState } from 'preact/hooks';
import { choiceQuery, flagQuery, type QueryCodec, textQuery, useQuery } from '@/shared/router';
import { PatchMap } from '@/parts/pictures/patch-map';
import { patchName } from '@/parts/pictures/coloring';
import { plural, significant, undefinedMark } from '@/shared/format';
import { SelectField } from '@/shared/ui/fields';
import { Choice } from '@/shared/ui/parts';
import { Callout, Skeleton } from '@/shared/ui/states';
import { useTrainedPrior } from './data';
import { DrawnCard } from './drawn-card';
import { type KeptStep, layersOf, nearestQuery } from './picture-data';
import { StageField, stagesOf, useNetworkStage } from './stage-field';
import type { HeadNumbers, TrainedPrior, TrainedView } from '@/parts/pictures/documents';

const openQuery = flagQuery(false);
const viewQuery = textQuery('');
const wholeQuery: QueryCodec<number | null> = {
  read: (text) => (text !== null && /^\d{1,12}$/.test(text) ? Number(text) : null),
  write: (value) => (value === null ? null : String(value)),
};
const shown = choiceQuery(['both', 'initial', 'trained'] as const, 'both');

export function StepSlider(props: {
  kept: readonly KeptStep[];
  step: number;
  choose: (step: number) => void;
}) {
  const { kept, step, choose } = props;
  const at = Math.max(
    0,
    kept.findIndex((each) => each.step === step),
  );
  if (kept.length < 2) return <span class="tag">step {step}</span>;
  return (
    <label class="step-slider">
      <span>
        Step <b class="number">{kept[at]!.step}</b> <small class="quiet">{kept[at]!.what}</small>
      </span>
      <input
        type="range"
        min={0}
        max={kept.length - 1}
        step={1}
        value={at}
        aria-label="Checkpoint"
        aria-valuetext={`step ${kept[at]!.step}, ${kept[at]!.what}`}
        onChange={(event) => choose(kept[Number(event.currentTarget.value)]!.step)}
      />
    </label>
  );
}

function NumbersTable({ numbers, heads }: { numbers: HeadNumbers; heads: number }) {
  const written = (value: number | null | undefined) =>
    value === null || value === undefined ? undefinedMark : significant(value, 3);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={numbers.title}>
      <table class="table table-small head-numbers">
        <caption title={numbers.help}>
          {numbers.title}
          {numbers.unit !== '' && <small class="quiet"> in {numbers.unit}</small>}
        </caption>
        <thead>
          <tr>
            <th scope="col" />
            {Array.from({ length: heads }, (_, head) => (
              <th key={head} scope="col" class="number">
                Head {head + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {numbers.rows.map((row, i) => (
            <tr key={row}>
              <th scope="row">{row}</th>
              {numbers.initial[i]!.map((before, head) => (
                <td key={head} class="number">
                  {numbers.trained && <span class="quiet">{written(before)} → </span>}
                  {written(numbers.trained ? numbers.trained[i]![head] : before)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Maps(props: {
  document: TrainedPrior;
  view: TrainedView;
  states: readonly ('initial' | 'trained')[];
}) {
  const { document, view, states } = props;
  const columns = document.grid[1]!;
  const [held, setHeld] = useQuery('patch', wholeQuery);
  const [pointed, setPointed] = useState<number | null>(null);
  const middle = Math.floor(document.grid[0]! / 2) * columns + Math.floor(columns / 3);
  const row = nearestQuery(document.queries, pointed ?? held ?? middle, columns);
  const query = document.queries[row]!;
  return (
    <>
      <div class="maps trained-maps">
        {view.initial.map((_, head) => (
          <figure key={head} class="map">
            <div class="map-states">
              {states.map((state) => {
                const heads = view[state];
                return heads ? (
                  <div key={state}>
                    <PatchMap
                      view={view}
                      row={heads[head]![row]!}
                      grid={document.grid}
                      query={query}
                      curve={null}
                      label={`Head ${head + 1}, ${state}: ${view.title} from ${patchName(query, columns)}`}
                      point={setPointed}
                      choose={setHeld}
                    />
                    <small class="quiet">
                      {state === 'initial' ? 'at initialization' : `step ${document.step}`}
                    </small>
                  </div>
                ) : null;
              })}
            </div>
            <figcaption>{view.initial.length > 1 && <b>Head {head + 1}</b>}</figcaption>
          </figure>
        ))}
      </div>
      <div class="map-foot">
        <p class="map-reading" aria-live="polite">
          From the patch at <b>{patchName(query, columns)}</b>. Click another to look from there.
        </p>
        <div class="map-legend">
          <span class="number">{significant(view.low, 3)}</span>
          <span class={`map-ramp map-ramp-${view.scale}`} aria-hidden="true" />
          <span class="number">{significant(view.high, 3)}</span>
        </div>
      </div>
    </>
  );
}

export function TrainedView({ document }: { document: TrainedPrior }) {
  const [viewId, setView] = useQuery('became', viewQuery);
  const [states, setStates] = useQuery('state', shown);
  const layer = document.layers[0];
  const view = layer?.views.find((each) => each.id === viewId) ?? layer?.views[0];
  if (!layer || !view) return null;
  return (
    <>
      <div class="card-tools">
        {layer.views.length > 1 && (
          <SelectField
            label="What is shown"
            value={view.id}
            choose={(id) => setView(id === layer.views[0]!.id ? '' : id)}
            options={layer.views.map(({ id, title, prior }) => ({
              value: id,
              text: prior === '' ? title : `${prior}: ${title}`,
            }))}
          />
        )}
        {view.trained && (
          <Choice
            label="States"
            value={states}
            choose={setStates}
            options={[
              { value: 'both', text: 'Both' },
              { value: 'initial', text: 'Initial' },
              { value: 'trained', text: 'Trained' },
            ]}
          />
        )}
      </div>
      <p class="card-note quiet">{view.help}</p>
      <Maps
        document={document}
        view={view}
        states={!view.trained || states === 'both' ? ['initial', 'trained'] : [states]}
      />
      {layer.numbers.map((numbers) => (
        <NumbersTable key={numbers.id} numbers={numbers} heads={document.model.heads} />
      ))}
    </>
  );
}

// Some layers of a model, to choose one.
export function LayerField(props: {
  layers: readonly number[];
  all: number;
  layer: number;
  choose: (layer: number) => void;
}) {
  return (
    <SelectField
      label="Layer"
      value={String(props.layer)}
      choose={(layer) => props.choose(Number(layer))}
      options={props.layers.map((layer) => ({ value: String(layer), text: `${layer + 1} of ${props.all}` }))}
    />
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
  const [wished, setStep] = useQuery('step', wholeQuery);
  const [layer, setLayer] = useQuery('layer', wholeQuery);
  const step = kept.some((each) => each.step === wished) ? wished! : kept.at(-1)!.step;
  const [stage, setStage] = useNetworkStage();
  const { data, error } = useTrainedPrior(experiment, ordinal, step, { stage, layer });
  const layers = data ? layersOf(stagesOf(data.model), stage) : [];
  return (
    <>
      <div class="card-tools">
        <StepSlider kept={kept} step={step} choose={setStep} />
        {data && (
          <StageField
            stages={stagesOf(data.model)}
            stage={stage}
            choose={(chosen) => {
              setStage(chosen);
              setLayer(null);
            }}
          />
        )}
        {data && layers.length > 1 && (
          <LayerField
            layers={layers}
            all={data.model.layers}
            layer={layer ?? layers[0]!}
            choose={setLayer}
          />
        )}
      </div>
      {error && <Callout tone="warning">{error.message}.</Callout>}
      {data ? <TrainedView document={data} /> : !error && <Skeleton rows={3} height={60} />}
    </>
  );
}

export function TrainedCard(props: { experiment: string; ordinal: number; kept: readonly KeptStep[] }) {
  const [open, setOpen] = useQuery('became-shown', openQuery);
  const from = plural(props.kept.filter(({ step }) => step > 0).length, 'kept checkpoint');
  const note = `Heat maps by layer and head, beside the initialization, from ${from}.`;
  return (
    <DrawnCard title="What the prior became" id="became" open={open} setOpen={setOpen} note={note}>
      <Drawn {...props} />
    </DrawnCard>
  );
}
