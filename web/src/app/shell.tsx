// What surrounds every page: top bar, connection, theme, the page itself and what stands in for one that
// cannot be shown.
import type { ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect, useState } from 'preact/hooks';
import { signOut, useIdentity } from '@/shared/api/identity';
import { stream, useConnection } from '@/shared/api/live';
import type { Connection } from '@/shared/api/event-stream';
import { Icon } from '@/shared/ui/icon';
import { Empty, Failure } from '@/shared/ui/states';
import { Toasts } from '@/shared/ui/toast';
import { navigate, type PageProps, usePlace } from '@/shared/router';
import { find, type Route, routes } from './routes';
import { home, hrefs } from '@/shared/hrefs';
import { Shortcuts } from './shortcuts';
import { nextTheme, type Theme, useTheme } from '@/shared/theme';

const connectionWords: Record<Connection, { label: string; help: string }> = {
  live: { label: 'Live', help: 'Changes arrive as they happen.' },
  connecting: { label: 'Connecting', help: 'Opening the event stream.' },
  polling: {
    label: 'Polling',
    help: 'The event stream is interrupted; the page asks every 5 seconds until it is back.',
  },
  offline: {
    label: 'Disconnected',
    help: 'The server does not answer. What you see was read earlier. Click to try again.',
  },
};

function ConnectionState() {
  const state = useConnection();
  const { label, help } = connectionWords[state];
  return (
    <button
      type="button"
      class={`connection connection-${state}`}
      title={help}
      onClick={() => stream.reconnect()}
    >
      <span class="connection-dot" aria-hidden="true" />
      <span role="status" aria-label={`Connection: ${label}`}>
        {label}
      </span>
    </button>
  );
}

const themeLooks: Record<Theme, { icon: 'auto' | 'sun' | 'moon'; label: string }> = {
  system: { icon: 'auto', label: 'Theme: as the system' },
  light: { icon: 'sun', label: 'Theme: light' },
  dark: { icon: 'moon', label: 'Theme: dark' },
};

function ThemeButton() {
  const { chosen } = useTheme();
  const { icon, label } = themeLooks[chosen];
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={nextTheme}>
      <Icon name={icon} />
    </button>
  );
}

function Visitor() {
  const identity = useIdentity();
  if (!identity.asked) return null;
  if (identity.name === '') return <a href={hrefs.signIn()}>Sign in</a>;
  return (
    <button
      type="button"
      class="button button-small"
      title={`Signed in as ${identity.name}, ${identity.role} of the account ${identity.account}`}
      onClick={() => void signOut().then(() => navigate(hrefs.signIn()))}
    >
      Sign out
    </button>
  );
}

function TopBar({ place }: { place: string }) {
  return (
    <header class="topbar">
      <div class="topbar-inner">
        <a class="brand" href={home} aria-label="Locus, to the list of experiments">
          <img src="/locus.svg" alt="" width="24" height="24" />
          <span>Locus</span>
        </a>
        <nav aria-label="Pages">
          {routes
            .filter((route) => route.navigation)
            .map((route) => (
              <a
                key={route.path}
                href={route.path}
                aria-current={place.startsWith(route.path) ? 'page' : undefined}
              >
                {route.navigation}
              </a>
            ))}
        </nav>
        <div class="topbar-end">
          <ConnectionState />
          <Visitor />
          <Shortcuts />
          <ThemeButton />
        </div>
      </div>
    </header>
  );
}

const loaded = new Map<Route, ComponentType<PageProps>>();

function Page({ route, params }: { route: Route; params: PageProps['params'] }) {
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState<unknown>(null);
  const [crashed, recover] = useErrorBoundary((error) => console.error(error));
  useLayoutEffect(() => {
    setFailed(null);
    if (loaded.has(route)) return;
    route.load().then(
      (module) => {
        loaded.set(route, module.default);
        redraw((count) => count + 1);
      },
      (error) => setFailed(error),
    );
  }, [route]);
  if (crashed) {
    return (
      <Failure title="This page broke" text={String((crashed as Error).message ?? crashed)} retry={recover} />
    );
  }
  if (failed) {
    return (
      <Failure
        title="This page could not be loaded"
        text="The dashboard's files are gone or the server is down."
        retry={() => location.reload()}
      />
    );
  }
  const Component = loaded.get(route);
  return Component ? <Component params={params} /> : <div class="page-loading" aria-busy="true" />;
}

export function Shell() {
  const { path } = usePlace();
  const found = find(path === '/' ? home : path);
  const title = found ? found.route.title(found.params) : 'Not found';
  useEffect(() => {
    document.title = `${title} · Locus`;
  }, [title]);
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <TopBar place={found?.route.under ?? path} />
      <main id="main" tabIndex={-1}>
        {found ? (
          <Page
            key={found.route.path + JSON.stringify(found.params)}
            route={found.route}
            params={found.params}
          />
        ) : (
          <Empty
            title="No such page"
            text={
              <>
                Nothing lives at <code>{path}</code>.
              </>
            }
          >
            <a class="button" href={hrefs.experiments()}>
              To the experiments
            </a>
          </Empty>
        )}
      </main>
      <Toasts />
    </>
  );
}
