// Light and dark: the system's wish unless one was chosen. public/first.js applies the choice before the
// first paint.
import { useEffect, useState } from 'preact/hooks';

export type Theme = 'system' | 'light' | 'dark';
const key = 'locus.theme';
const systemDark = () => matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

export function chosenTheme(): Theme {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    if (theme === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, theme);
  } catch {
    // Storage is denied: the choice lasts as long as the page.
  }
  listeners.forEach((listener) => listener());
}

const after: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
export const nextTheme = () => chooseTheme(after[chosenTheme()]);

// What is shown now.
export function shownTheme(): 'light' | 'dark' {
  const chosen = chosenTheme();
  return chosen === 'system' ? (systemDark().matches ? 'dark' : 'light') : chosen;
}

// Redraws when the theme changes: canvases cannot follow a style sheet by themselves.
export function useTheme(): { chosen: Theme; shown: 'light' | 'dark' } {
  const [state, setState] = useState({ chosen: chosenTheme(), shown: shownTheme() });
  useEffect(() => {
    const update = () => setState({ chosen: chosenTheme(), shown: shownTheme() });
    const system = systemDark();
    listeners.add(update);
    system.addEventListener('change', update);
    return () => {
      listeners.delete(update);
      system.removeEventListener('change', update);
    };
  }, []);
  return state;
}
