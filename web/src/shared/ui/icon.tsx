// The few icons of the dashboard, as inline SVG: nothing is fetched.

const paths = {
  sun:
    'M8 4.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7ZM8 .8v1.700M8 13.500v1.700M.8 8h1.700' +
    'M13.500 8h1.700M2.900 2.900l1.200 1.200M11.900 11.900l1.200 1.200M2.900 13.100l1.200-1.200' +
    'M11.900 4.100l1.200-1.200',
  moon: 'M13.500 9.700A5.800 5.800 0 0 1 6.300 2.500a5.900 5.900 0 1 0 7.200 7.200Z',
  auto: 'M1.800 3h12.400v8.200H1.800ZM5.500 13.800h5M8 11.200v2.600',
  copy:
    'M5.500 5.500v-3a.8.8 0 0 1 .8-.8h7.200a.8.8 0 0 1 .8.8v7.200a.8.8 0 0 1-.8.8h-3' +
    'M2.500 5.500h7.200a.8.8 0 0 1 .8.8v7.200a.8.8 0 0 1-.8.8H2.500a.8.8 0 0 1-.8-.8V6.300' +
    'a.8.8 0 0 1 .8-.8Z',
  download: 'M8 1.800v8.400M4.500 7 8 10.400 11.500 7M2 13.800h12',
  check: 'm2.800 8.500 3.400 3.400 7-7.600',
  warning: 'M8 2 14.600 13.600H1.400ZM8 6.300v3.400M8 11.700v.1',
  question:
    'M8 1.700a6.300 6.300 0 1 0 0 12.600A6.300 6.300 0 0 0 8 1.700Z' +
    'M6.200 6.300c0-1 .8-1.700 1.800-1.700s1.800.7 1.800 1.600c0 1.300-1.800 1.400-1.800 2.700' +
    'M8 11.300v.1',
  up: 'M8 13V3.400M4 7.200 8 3.200l4 4',
  down: 'M8 3v9.600M4 8.800l4 4 4-4',
  sort: 'M5 6.500 8 3.500l3 3M5 9.500l3 3 3-3',
  close: 'm4 4 8 8M12 4l-8 8',
  chevron: 'm6 3.500 4.500 4.500L6 12.500',
  search: 'M7 2.200a4.800 4.800 0 1 0 0 9.600 4.800 4.800 0 0 0 0-9.600ZM10.600 10.600l3.200 3.200',
  columns: 'M2 2.800h12v10.400H2ZM6 2.800v10.400M10 2.800v10.400',
  pause: 'M5.500 3.500v9M10.500 3.500v9',
  play: 'm5 3 7.500 5L5 13Z',
  stop: 'M4 4h8v8H4Z',
  again: 'M13 8a5 5 0 1 1-1.600-3.700M13.200 2v2.800h-2.800',
  trash:
    'M2.800 4.500h10.400M6.300 4.500V2.700h3.400v1.800M4.200 4.500l.6 8.800h6.400l.6-8.800M6.700 7v3.800M9.300 7v3.800',
  more: 'M3.500 8h.010M8 8h.010M12.500 8h.010',
  plus: 'M8 3v10M3 8h10',
  filter: 'M2 3h12L9.500 8.500v4.500l-3-1.500v-3Z',
  compare: 'M2.500 12.500 6 7.500l3 2.500 4.500-6.500M2.500 2.500v10.800h11',
  share:
    'M6.500 9.500 3.500 12.500M9.500 6.500l3-3' +
    'M4 8.500 2.700 9.800a2.500 2.500 0 0 0 3.500 3.500L7.500 12' +
    'M8.500 4l1.300-1.300a2.500 2.500 0 0 1 3.500 3.500L12 7.500',
} as const;

export type IconName = keyof typeof paths;

// Decoration: the element that holds it carries the label.
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
