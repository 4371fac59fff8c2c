// Fields that narrow a view: search text, one of several, grouping.
import { Icon } from './icon';

export function SearchField({
  label,
  value,
  set,
}: {
  label: string;
  value: string;
  set: (value: string) => void;
}) {
  return (
    <label class="search">
      <Icon name="search" size={14} />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        spellcheck={false}
        onInput={(event) => set(event.currentTarget.value)}
      />
    </label>
  );
}

export interface Option<T extends string> {
  value: T;
  text: string;
}

export function SelectField<T extends string>(props: {
  label: string; // said before the value: "Group: none"
  value: T;
  options: readonly Option<T>[];
  choose: (value: T) => void;
}) {
  return (
    <label class="select-field">
      <span aria-hidden="true">{props.label}</span>
      <select
        class="select"
        aria-label={props.label}
        value={props.value}
        onChange={(event) => props.choose(event.currentTarget.value as T)}
      >
        {props.options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}

// True when every word of the wish occurs in one of the texts.
export function matches(wish: string, ...texts: readonly string[]): boolean {
  const all = texts.join('\n').toLowerCase();
  return wish
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
