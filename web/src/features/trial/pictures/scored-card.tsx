// What an evaluation saw of some images: input, prediction, target and error, with the classes' colors and IoU.
import {
  type About,
  classScores,
  type Kept,
  keptPictures,
  pictureOf,
  useAbout,
} from '@/parts/pictures/scored';
import { ClassTable, panelNote, ScoredImage } from '@/parts/pictures/scored-image';
import type { StageDetail } from '@/shared/api/messages';
import { labelText, plural } from '@/shared/format';
import { Card } from '@/shared/ui/parts';
import { ReadFailure, Skeleton } from '@/shared/ui/states';

export function ScoredView({ kept, found, stage }: { kept: Kept; found: About; stage: StageDetail }) {
  const labels = labelText(JSON.stringify(found.labels));
  return (
    <>
      <p class="card-note quiet">
        {plural(found.pictures.length, 'image')} of the {found.split} split
        {labels === '' ? '' : `, ${labels}`}. {panelNote(found.of)}
      </p>
      <div class="scored-list">
        {found.pictures.map(({ slot, row }) => {
          const sha256 = pictureOf(kept, found, row);
          return sha256 === undefined ? null : (
            <figure key={slot}>
              <figcaption>Image {row}</figcaption>
              <ScoredImage sha256={sha256} label={`Image ${row}`} />
            </figure>
          );
        })}
      </div>
      <ClassTable columns={[{ heading: 'IoU', classes: classScores(found, stage.results) }]} />
    </>
  );
}

function ScoredCard({ kept, stage, alone }: { kept: Kept; stage: StageDetail; alone: boolean }) {
  const { data, error, refresh } = useAbout(kept.document);
  return (
    <Card title={alone ? 'Scored images' : `Scored images, ${kept.role}`} id={`scored-${kept.role}`}>
      {!data && error && <ReadFailure what="What the pictures show" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={4} height={40} />}
      {data && <ScoredView kept={kept} found={data} stage={stage} />}
    </Card>
  );
}

// A card for each evaluation that has kept pictures.
export function ScoredCards({ stages }: { stages: readonly StageDetail[] }) {
  const all = keptPictures(stages);
  return (
    <>
      {all.map((kept) => (
        <ScoredCard
          key={kept.document}
          kept={kept}
          stage={stages.find((each) => each.role === kept.role)!}
          alone={all.length === 1}
        />
      ))}
    </>
  );
}
