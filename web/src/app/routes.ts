// Every page of the dashboard: one folder and one line here. Navigation, titles, loading and the smoke test
// follow from it.
import type { ComponentType } from 'preact';
import { match, type Parameters } from './router';

export interface PageProps {
  params: Parameters;
}

export interface Route {
  path: string; // ":name" is a parameter
  title: (params: Parameters) => string;
  navigation?: string; // the entry in the top bar
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

const experiment = (params: Parameters) => params['name'] ?? '';

export const routes: readonly Route[] = [
  {
    path: '/experiments',
    title: () => 'Experiments',
    navigation: 'Experiments',
    load: () => import('@/features/experiments/experiments-page'),
  },
  {
    path: '/experiments/:name',
    title: experiment,
    load: () => import('@/features/experiment/experiment-page'),
  },
  {
    path: '/experiments/:name/trials/:ordinal',
    title: (p) => `${experiment(p)} / ${p['ordinal']}`,
    load: () => import('@/features/trial/trial-page'),
  },
  {
    path: '/workers',
    title: () => 'Workers',
    navigation: 'Workers',
    load: () => import('@/features/workers/workers-page'),
  },
];

export const home = '/experiments';

// The route of a path and its parameters; null when there is no such page.
export function find(
  path: string,
  table: readonly Route[] = routes,
): { route: Route; params: Parameters } | null {
  for (const route of table) {
    const params = match(route.path, path);
    if (params) return { route, params };
  }
  return null;
}

export const hrefs = {
  experiments: () => home,
  experiment: (name: string) => `/experiments/${encodeURIComponent(name)}`,
  trial: (name: string, ordinal: number) => `/experiments/${encodeURIComponent(name)}/trials/${ordinal}`,
  workers: () => '/workers',
};
