// Where things are shown: the address of every page.

export const home = '/experiments';

export const hrefs = {
  experiments: () => home,
  experiment: (name: string) => `/experiments/${encodeURIComponent(name)}`,
  trial: (name: string, ordinal: number) => `/experiments/${encodeURIComponent(name)}/trials/${ordinal}`,
  search: (name: string) => `/experiments/${encodeURIComponent(name)}/search`,
  workers: () => '/workers',
  worker: (name: string) => `/workers/${encodeURIComponent(name)}`,
  catalog: (kind: string, id: string) =>
    id === '' ? '/catalog' : `/catalog?item=${encodeURIComponent(`${kind}/${id}`)}`,
  claims: (experiment: string, paper = '') => {
    const query = new URLSearchParams({
      ...(paper && { paper }),
      ...(experiment && { experiment }),
    }).toString();
    return query === '' ? '/claims' : `/claims?${query}`;
  },
  create: () => '/new',
  signIn: () => '/sign-in',
  pivotTable: (names: readonly string[]) => `/paper-table?of=${names.map(encodeURIComponent).join(',')}`,
  // trials "NAME/3" and cells "NAME/cells/0"
  compare: (items: readonly string[]) => `/compare?of=${items.map(encodeURIComponent).join(',')}`,
};
