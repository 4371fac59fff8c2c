// The settings of the items side by side: what differs, and on demand what is equal.
import { flagQuery, useQuery } from '@/shared/router';
import type { ComparedSetting } from '@/shared/api/messages';
import { type Compared, headingRoom } from './data';
import { plural, shortenedApart, undefinedMark } from '@/shared/format';
import { Card, Swatch, Switch } from '@/shared/ui/parts';

const equalQuery = flagQuery(false);

// "\"none\"" -> none, "[\"a\",\"b\"]" -> a, b, nothing -> a dash.
export function settingText(json: string): string {
  if (json === '') return undefinedMark;
  try {
    return plain(JSON.parse(json));
  } catch {
    return json;
  }
}

function plain(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(plain).join(', ') || 'empty';
  if (value !== null && typeof value === 'object') {
    const { id, options, ...rest } = value as { id?: unknown; options?: unknown };
    if (typeof id === 'string' && Object.keys(rest).length === 0) {
      const set = Object.entries((options ?? {}) as object);
      return set.length === 0
        ? id
        : `${id} {${set.map(([key, each]) => `${key}: ${plain(each)}`).join(', ')}}`;
    }
  }
  return JSON.stringify(value);
}

export interface SharedSetting {
  path: string; // without the stage's role
  roles: string[]; // of the stages that have it with these values
  values: readonly string[];
  texts?: readonly string[]; // as people read them
}

// Stages repeat the settings they build on: what several roles have alike is one line.
export function mergeRoles(settings: readonly ComparedSetting[]): SharedSetting[] {
  const merged = new Map<string, SharedSetting>();
  for (const { path, values_json: values, values: texts } of settings) {
    const dot = path.indexOf('.');
    const [role, rest] = dot < 0 ? ['', path] : [path.slice(0, dot), path.slice(dot + 1)];
    const key = JSON.stringify([rest, values]);
    const known = merged.get(key);
    if (known) known.roles.push(role);
    else merged.set(key, { path: rest, roles: [role], values, ...(texts.length > 0 && { texts }) });
  }
  return [...merged.values()];
}

function Rows({ settings, equal }: { settings: readonly SharedSetting[]; equal: boolean }) {
  return (
    <>
      {settings.map((setting) => (
        <tr key={setting.roles[0] + setting.path} class={equal ? 'row-equal' : ''}>
          <th scope="row">
            <code>{setting.path}</code> <small>{setting.roles.join(', ')}</small>
          </th>
          {setting.values.map((value, i) => (
            <td key={i} class="setting-value">
              {setting.texts?.[i] || settingText(value)}
            </td>
          ))}
        </tr>
      ))}
    </>
  );
}

export function CompareSettings({ comparison: { differing, common }, names, looks }: Compared) {
  const [equal, setEqual] = useQuery('equal', equalQuery);
  const short = shortenedApart(names, headingRoom(names));
  const [apart, alike] = [mergeRoles(differing), mergeRoles(common)];
  return (
    <Card
      title="Settings"
      id="settings"
      tools={<Switch label={`Show ${plural(alike.length, 'equal setting')}`} on={equal} set={setEqual} />}
    >
      {apart.length === 0 && <p class="quiet card-note">No setting differs.</p>}
      {(apart.length > 0 || equal) && (
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Settings by item">
          <table class="table table-small settings">
            <thead>
              <tr>
                <th scope="col">Setting</th>
                {names.map((name, i) => (
                  <th key={i} scope="col" title={name}>
                    <span class="item-mark">
                      <Swatch look={looks[i]!} />
                      {short[i]}
                    </span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              <Rows settings={apart} equal={false} />
              {equal && <Rows settings={alike} equal />}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
