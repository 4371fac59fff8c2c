// Every page of the dashboard: one folder and one line here. Navigation, titles, loading and the smoke test
// follow from it.
import type { ComponentType } from 'preact';
import { match, type PageProps, type Parameters } from '@/shared/router';

export interface Route {
  path: string; // ":name" is a parameter
  title: (params: Parameters) => string;
  navigation?: string; // the entry in the top bar
  key?: string; // after g, goes there
  under?: string; // the entry it belongs to, where its path does not say so
  // The page's code. `ahead` asks for what the page reads first, before it is drawn.
  load: () => Promise<{ default: ComponentType<PageProps>; ahead?: (params: Parameters) => void }>;
}

const name = (params: Parameters) => params['name'] ?? '';

export const routes: readonly Route[] = [
  {
    path: '/experiments',
    title: () => 'Experiments',
    navigation: 'Experiments',
    key: 'e',
    load: () => import('@/features/experiments/experiments-page'),
  },
  {
    path: '/experiments/:name',
    title: name,
    load: () => import('@/features/experiment/experiment-page'),
  },
  {
    path: '/experiments/:name/trials/:ordinal',
    title: (p) => `${name(p)} / ${p['ordinal']}`,
    load: () => import('@/features/trial/trial-page'),
  },
  {
    path: '/experiments/:name/search',
    title: (p) => `Search of ${name(p)}`,
    load: () => import('@/features/search/search-page'),
  },
  {
    path: '/compare',
    title: () => 'Compare',
    under: '/experiments',
    load: () => import('@/features/compare/compare-page'),
  },
  {
    path: '/paper-table',
    title: () => 'Pivot table',
    under: '/experiments',
    load: () => import('@/features/pivot/pivot-page'),
  },
  {
    path: '/new',
    title: () => 'New experiment',
    under: '/experiments',
    load: () => import('@/features/create/create-page'),
  },
  {
    path: '/workers',
    title: () => 'Workers',
    navigation: 'Workers',
    key: 'w',
    load: () => import('@/features/workers/workers-page'),
  },
  {
    path: '/workers/:name',
    title: name,
    load: () => import('@/features/workers/worker-page'),
  },
  {
    path: '/catalog',
    title: () => 'Catalog',
    navigation: 'Catalog',
    key: 'c',
    load: () => import('@/features/catalog/catalog-page'),
  },
  {
    path: '/claims',
    title: () => 'Claims',
    navigation: 'Claims',
    key: 'p',
    load: () => import('@/features/claims/claims-page'),
  },
  {
    path: '/sign-in',
    title: () => 'Sign in',
    load: () => import('@/features/sign-in/sign-in-page'),
  },
];

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

// Begins to load the page of an address and what it reads, before anything is drawn. Ends when the page is there or
// cannot be loaded, which it then says.
export async function begin(path: string): Promise<void> {
  const found = find(path);
  if (!found) return;
  const page = await found.route.load().catch(() => undefined);
  page?.ahead?.(found.params);
}
