// A picture of a scored image with what its panels are, and the colors of classes.
import { WhenNear } from '@/shared/ui/when-near';
import { fixed, undefinedMark } from '@/shared/format';
import { ReadFailure, Skeleton } from '@/shared/ui/states';
import { type ClassScore, panels, usePng } from './scored';
import './scored.css';

function Png({ sha256, label }: { sha256: string; label: string }) {
  const { data, error, refresh } = usePng(sha256);
  if (!data && error) return <ReadFailure what="The picture" error={error} retry={refresh} />;
  if (!data) return <Skeleton rows={2} height={40} />;
  return <img class="scored-image" src={data} alt={`${label}: ${panels.join(', ')}`} />;
}

// `label` tells it from the others to who does not see it.
export function ScoredImage({ sha256, label }: { sha256: string; label: string }) {
  return (
    <>
      <WhenNear>
        <Png sha256={sha256} label={label} />
      </WhenNear>
      <div class="scored-panels quiet" aria-hidden="true">
        {panels.map((panel) => (
          <small key={panel}>{panel}</small>
        ))}
      </div>
    </>
  );
}

export function ClassSwatch({ color }: { color: string }) {
  return <span class="class-swatch" aria-hidden="true" style={{ backgroundColor: color }} />;
}

export const iouText = (value: number) => (Number.isNaN(value) ? undefinedMark : fixed(value, 1));

export const panelNote = (of: string) =>
  of === 'mask'
    ? 'Error: right pixels are gray, wrong ones red, unlabeled ones black.'
    : 'The prediction is fitted to the target by scale and shift; both share their colors, the error has its own, ' +
      'and the bars say what the ends of each are.';

// Columns of values beside the classes, in their order; a heading for each where there are several.
export function ClassTable(props: {
  columns: readonly { heading: string; classes: readonly ClassScore[] }[];
}) {
  const { columns } = props;
  const classes = columns[0]?.classes ?? [];
  if (classes.length === 0) return null;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="IoU of each class">
      <table class="table table-small class-table">
        <caption>IoU of each class, %</caption>
        <thead>
          <tr>
            <th scope="col">Class</th>
            {columns.map(({ heading }, i) => (
              <th key={i} scope="col" class="number" title={heading}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {classes.map(({ name, color }) => (
            <tr key={name}>
              <th scope="row">
                <ClassSwatch color={color} />
                {name}
              </th>
              {columns.map((column, i) => (
                <td key={i} class="number">
                  {iouText(column.classes.find((each) => each.name === name)?.iou ?? NaN)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
