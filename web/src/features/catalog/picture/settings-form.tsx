// Options, grid, heads and seed of a prior's picture, to be changed and drawn again.
import { useState } from 'preact/hooks';
import { SelectField } from '@/shared/ui/fields';
import type { CatalogOption } from '@/parts/catalog';
import { isUsual, optionText, optionValue, type Settings, usualSettings, withOption } from './settings';

function OptionField(props: { option: CatalogOption; value: unknown; set: (value: unknown) => void }) {
  const { option, value, set } = props;
  const [written, setWritten] = useState(optionText(value));
  const choices =
    option.type === 'boolean' ? ['true', 'false'] : option.type === 'list' ? [] : option.choices;
  if (choices.length > 0)
    return (
      <SelectField
        label={option.name}
        value={optionText(value)}
        choose={(text) => set(optionValue(option, text))}
        options={choices.map((each) => ({ value: each, text: each }))}
      />
    );
  return (
    <label class="select-field" title={option.help}>
      <span aria-hidden="true">{option.name}</span>
      <input
        class="select"
        aria-label={option.name}
        aria-invalid={optionValue(option, written) === undefined}
        value={written}
        onInput={(event) => {
          setWritten(event.currentTarget.value);
          const read = optionValue(option, event.currentTarget.value);
          if (read !== undefined) set(read);
        }}
      />
    </label>
  );
}

const sizes = [
  ['rows', 'Rows', 1, 64],
  ['columns', 'Columns', 1, 64],
  ['heads', 'Heads', 1, 32],
  ['seed', 'Seed', 0, 1e9],
] as const;

export function SettingsForm(props: {
  options: readonly CatalogOption[];
  settings: Settings;
  draw: (settings: Settings) => void;
}) {
  const [draft, setDraft] = useState(props.settings);
  return (
    <form
      class="picture-settings"
      onSubmit={(event) => {
        event.preventDefault();
        props.draw(draft);
      }}
    >
      {props.options.map((option) => (
        <OptionField
          key={option.name}
          option={option}
          value={draft.options[option.name] ?? option.default}
          set={(value) => setDraft((before) => withOption(before, option, value))}
        />
      ))}
      {sizes.map(([key, label, least, most]) => (
        <label key={key} class="select-field">
          <span aria-hidden="true">{label}</span>
          <input
            class="select size-field"
            type="number"
            min={least}
            max={most}
            aria-label={label}
            value={draft[key]}
            onInput={(event) => {
              const value = Number(event.currentTarget.value);
              if (Number.isInteger(value) && value >= least)
                setDraft((before) => ({ ...before, [key]: value }));
            }}
          />
        </label>
      ))}
      <button type="submit" class="button button-small">
        Draw
      </button>
      {!isUsual(props.settings) && (
        <button
          type="button"
          class="button button-small"
          onClick={() => {
            setDraft(usualSettings);
            props.draw(usualSettings);
          }}
        >
          As usual
        </button>
      )}
    </form>
  );
}
