// A prior's picture at a glance: what one patch attends to, a square for each head.
import { WhenNear } from '@/shared/ui/when-near';
import { usePicture } from '../data';
import { squares } from '@/parts/pictures/patch-map';
import { coloring, flat, tellingView, usualPatch, usualRange } from '@/parts/pictures/coloring';
import type { Picture } from '@/parts/pictures/documents';

const most = 4; // heads shown

export function ThumbnailOf({ picture }: { picture: Picture }) {
  const view = tellingView(picture);
  if (!view || flat(view)) return <span class="thumbnail thumbnail-flat">the same for all patches</span>;
  const [rows, columns] = picture.grid as [number, number];
  const range = usualRange(view);
  return (
    <span class="thumbnail" title={`${view.title}, by head`}>
      {view.values.slice(0, most).map((head, i) => (
        <svg key={i} class="patch-map" viewBox={`0 0 ${columns} ${rows}`} aria-hidden="true">
          <rect class="patch-ground" width={columns} height={rows} />
          {squares(coloring(view, i, range), head[usualPatch(picture.grid)]!, columns)}
        </svg>
      ))}
    </span>
  );
}

function Read({ prior }: { prior: string }) {
  const { data } = usePicture(prior);
  return data ? <ThumbnailOf picture={data} /> : <span class="thumbnail" />;
}

// Read when it comes into sight. One that cannot be had is left out: the entry says what the prior is.
export const Thumbnail = ({ prior }: { prior: string }) => (
  <WhenNear>
    <Read prior={prior} />
  </WhenNear>
);
