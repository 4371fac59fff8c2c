// Which stage of the network the pictures show: both cards show the same one, which stands in the address.
import { type QueryCodec, useQuery } from '@/shared/router';
import { SelectField } from '@/shared/ui/fields';

const stageQuery: QueryCodec<number> = {
  read: (text) => (text !== null && /^\d{1,3}$/.test(text) ? Number(text) : 0),
  write: (stage) => (stage === 0 ? null : String(stage)),
};

export const useNetworkStage = () => useQuery('network-stage', stageQuery);

// Layers of each stage of a drawn model.
export const stagesOf = (model: { layers: number; stages: readonly number[] | null }): readonly number[] =>
  model.stages ?? [model.layers];

// Nothing in a network of one stage.
export function StageField(props: {
  stages: readonly number[];
  stage: number;
  choose: (stage: number) => void;
}) {
  if (props.stages.length < 2) return null;
  return (
    <SelectField
      label="Stage of the network"
      value={String(props.stage)}
      choose={(stage) => props.choose(Number(stage))}
      options={props.stages.map((layers, stage) => ({
        value: String(stage),
        text: `${stage + 1} of ${props.stages.length}, ${layers} ${layers === 1 ? 'layer' : 'layers'}`,
      }))}
    />
  );
}
