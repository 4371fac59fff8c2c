// The same scored image as each item saw it: of a cell by its first seed.
import {
  type About,
  type ClassScore,
  classScores,
  type Kept,
  keptPictures,
  pictureOf,
  readAbout,
  sameImages,
} from '@/parts/pictures/scored';
import { ClassTable, panelNote, ScoredImage } from '@/parts/pictures/scored-image';
import { read, segment } from '@/shared/api/client';
import { useLive } from '@/shared/api/live';
import { type ComparedItem, type StageDetail, TrialDetail } from '@/shared/api/messages';
import { shortenedApart } from '@/shared/format';
import { type QueryCodec, useQuery } from '@/shared/router';
import { SelectField } from '@/shared/ui/fields';
import { Card, Swatch } from '@/shared/ui/parts';
import { WhenNear } from '@/shared/ui/when-near';
import { type Compared, headingRoom } from './data';

export interface Seen {
  place: number; // of the item
  seed: number;
  kept: Kept;
  about: About;
  classes: ClassScore[];
}

// What one item has kept, of its first evaluation with pictures; null: nothing.
async function seenBy(item: ComparedItem, place: number, signal: AbortSignal): Promise<Seen | null> {
  const ordinal = item.trials[0];
  if (ordinal === undefined) return null;
  const path = `/experiments/${segment(item.experiment)}/trials/${ordinal}`;
  const { stages } = await read(path, TrialDetail, {}, signal);
  const kept = keptPictures(stages)[0];
  if (!kept) return null;
  const about = await readAbout(kept.document, signal);
  const { results } = stages.find((each: StageDetail) => each.role === kept.role)!;
  return { place, seed: item.seeds[0] ?? 0, kept, about, classes: classScores(about, results) };
}

// Those that show the same images as the first one that shows any.
export function comparable(all: readonly (Seen | null)[]): Seen[] {
  const found = all.filter((each) => each !== null);
  return found.filter((each) => sameImages(each.about, found[0]!.about));
}

const useSeen = (items: readonly ComparedItem[]) =>
  useLive(
    `seen by ${items.map((item) => `${item.name}/${item.trials[0] ?? ''}`).join()}`,
    async (signal) => comparable(await Promise.all(items.map((item, i) => seenBy(item, i, signal)))),
    () => false,
  );

const rowQuery: QueryCodec<number | null> = {
  read: (text) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null),
  write: (value) => (value === null ? null : String(value)),
};

export function SeenView({ seen, names, looks }: { seen: readonly Seen[] } & Omit<Compared, 'comparison'>) {
  const [wanted, setRow] = useQuery('image', rowQuery);
  const { pictures, of } = seen[0]!.about;
  const row = pictures.find((each) => each.row === wanted)?.row ?? pictures[0]!.row;
  const short = shortenedApart(names, headingRoom(names));
  const tools = (
    <SelectField
      label="Image"
      value={String(row)}
      options={pictures.map((each) => ({ value: String(each.row), text: String(each.row) }))}
      choose={(value) => setRow(Number(value))}
    />
  );
  return (
    <Card title="The same image" id="scored" tools={tools}>
      <p class="card-note quiet">
        Image {row} of the {seen[0]!.about.split} split; of a cell its first seed. {panelNote(of)}
      </p>
      <div class="scored-list">
        {seen.map(({ place, seed, kept, about }) => {
          const sha256 = pictureOf(kept, about, row);
          return sha256 === undefined ? null : (
            <figure key={place}>
              <figcaption title={names[place]}>
                <Swatch look={looks[place]!} /> {short[place]} <small class="quiet">seed {seed}</small>
              </figcaption>
              <ScoredImage sha256={sha256} label={`${names[place]}, image ${row}`} />
            </figure>
          );
        })}
      </div>
      <ClassTable columns={seen.map(({ place, classes }) => ({ heading: short[place]!, classes }))} />
    </Card>
  );
}

function Pictures({ comparison, names, looks }: Compared) {
  const { data } = useSeen(comparison.items);
  if (!data || data.length === 0) return null; // most tasks make no pictures
  return <SeenView seen={data} names={names} looks={looks} />;
}

export function ComparePictures(compared: Compared) {
  return (
    <WhenNear>
      <Pictures {...compared} />
    </WhenNear>
  );
}
