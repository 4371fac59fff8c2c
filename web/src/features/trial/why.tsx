// Why the trial is in its state, in the server's sentences, and what a person can do about it.
import { clockTime } from '@/shared/format';
import { stateTone } from '@/shared/ui/parts';
import { Callout } from '@/shared/ui/states';
import { useExplanation } from './data';

// The server's sentences begin small, to follow a name.
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export function Why({ experiment, ordinal }: { experiment: string; ordinal: string }) {
  const { data } = useExplanation(experiment, ordinal);
  if (!data || data.sentence === '') return null;
  const bad = stateTone(data.state) === 'bad';
  const open = data.stages.filter((stage) => stage.remedy !== '' || stage.expected_time !== null);
  return (
    <Callout tone={bad ? 'failure' : data.state === 'held' ? 'warning' : 'note'}>
      <p class="why">{capital(data.sentence)}</p>
      {open.map((stage) => (
        <p key={stage.stage} class="why-stage">
          {capital(stage.remedy)}
          {stage.expected_time !== null && ` Expected about ${clockTime(stage.expected_time)}.`}
        </p>
      ))}
    </Callout>
  );
}
