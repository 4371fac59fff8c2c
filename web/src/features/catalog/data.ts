// The pictures of priors.
import { decodePicture, type Picture } from '@/parts/pictures/documents';
import { read, segment } from '@/shared/api/client';
import { useLive } from '@/shared/api/live';
import { Drawing, Picture as PictureMessage } from '@/shared/api/messages';
import { isUsual, type Settings, usualSettings } from './picture/settings';

// With other settings than usual the server has it drawn, which takes seconds.
export const usePicture = (prior: string, settings: Settings = usualSettings) =>
  useLive<Picture>(
    `picture ${prior} ${JSON.stringify(settings)}`,
    async (signal) => {
      const path = `/catalog/pictures/${segment(prior)}`;
      const { options, ...sizes } = settings;
      const found = isUsual(settings)
        ? await read(path, PictureMessage, {}, signal)
        : await read(`${path}/drawing`, Drawing, { ...sizes, options: JSON.stringify(options) }, signal);
      return decodePicture(JSON.parse(found.json));
    },
    (change) => change.all,
    `picture ${prior}`,
  );
