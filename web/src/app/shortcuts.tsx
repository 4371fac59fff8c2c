// Keys that work on every page, and the list of them.
import { useEffect, useState } from 'preact/hooks';
import { Dialog } from '@/shared/ui/dialog';
import { navigate } from '@/shared/router';
import { routes } from './routes';
import { hrefs } from '@/shared/hrefs';
import { nextTheme } from '@/shared/theme';

export interface Shortcut {
  keys: readonly string[]; // pressed one after the other
  does: string;
  run: () => boolean | void; // false: there is nothing here that it could do
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('.search input');
  field?.focus();
  return field !== null;
}

// The nth tab of the page, counted from 1.
function chooseTab(number: number): boolean {
  const tab = document.querySelectorAll<HTMLButtonElement>('[role="tab"]')[number - 1];
  tab?.click();
  return tab !== undefined;
}

export const shortcuts: readonly Shortcut[] = [
  { keys: ['/'], does: 'Find on this page', run: focusSearch },
  ...routes.flatMap(({ navigation, key, path }) =>
    navigation && key ? [{ keys: ['g', key], does: `Go to ${navigation}`, run: () => navigate(path) }] : [],
  ),
  { keys: ['n'], does: 'New experiment', run: () => navigate(hrefs.create()) },
  ...[1, 2, 3, 4, 5].map((number) => ({
    keys: [String(number)],
    does: `Tab ${number} of an experiment`,
    run: () => chooseTab(number),
  })),
  { keys: ['t'], does: 'Change the theme', run: nextTheme },
];

// Keys of a part that has the focus; it handles them itself.
const elsewhere: readonly Omit<Shortcut, 'run'>[] = [
  { keys: ['←', '→'], does: 'On a curve: read point by point. On tabs: the next one' },
  { keys: ['+', '−', '0'], does: 'On a curve: zoom in, out, show the whole' },
  { keys: ['←', '→', '↑', '↓'], does: 'On the picture of a prior: move the patch' },
  { keys: ['Esc'], does: 'Close what is open' },
];

function Keys({ keys }: { keys: readonly string[] }) {
  return (
    <dt>
      {keys.map((key, i) => (
        <kbd key={i}>{key}</kbd>
      ))}
    </dt>
  );
}

function Help({ close }: { close: () => void }) {
  const tabs = shortcuts.filter(({ keys }) => /^\d$/.test(keys[0]!));
  const single = shortcuts.filter((each) => !tabs.includes(each));
  const told = [
    ...single,
    { keys: [`${tabs[0]!.keys[0]}…${tabs.length}`], does: 'Tabs of an experiment' },
    { keys: ['?'], does: 'This list' },
    ...elsewhere,
  ];
  return (
    <Dialog
      title="Keyboard shortcuts"
      close={close}
      actions={
        <button type="button" class="button" onClick={close}>
          Close
        </button>
      }
    >
      <dl class="shortcuts">
        {told.map(({ keys, does }) => (
          <div key={does}>
            <Keys keys={keys} />
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const patience = 1500; // milliseconds between two keys of one shortcut

// Reads keys as shortcuts, but not where one types or a question is open.
export class Reader {
  private begun = '';
  private at = 0;

  // What the key asks for now: a shortcut, the list of them, or nothing yet.
  read(key: string, now: number): Shortcut | 'help' | null {
    const first = now - this.at < patience ? this.begun : '';
    this.begun = '';
    if (key === '?') return 'help';
    const pressed = first === '' ? [key] : [first, key];
    const found = shortcuts.find(({ keys }) => keys.join(' ') === pressed.join(' '));
    if (found) return found;
    if (shortcuts.some(({ keys }) => keys.length > 1 && keys[0] === key)) {
      this.begun = key;
      this.at = now;
    }
    return null;
  }
}

export function Shortcuts() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const reader = new Reader();
    const key = (event: KeyboardEvent) => {
      const target = event.target as Element | null;
      const busy =
        target?.closest?.('input, textarea, select, dialog') ?? document.querySelector('dialog[open]');
      if (busy || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const asked = reader.read(event.key, event.timeStamp);
      if (asked === null) return;
      if (asked === 'help') setOpen(true);
      else if (asked.run() === false) return;
      event.preventDefault();
    };
    document.addEventListener('keydown', key);
    return () => document.removeEventListener('keydown', key);
  }, []);
  return (
    <>
      <button
        type="button"
        class="icon-button topbar-help"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={() => setOpen(true)}
      >
        <kbd>?</kbd>
      </button>
      {open && <Help close={() => setOpen(false)} />}
    </>
  );
}
