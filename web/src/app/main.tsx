// The entry: styles, router, event stream, shell.
import 'uplot/dist/uPlot.min.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/controls.css';
import './styles/tables.css';
import './styles/toolbar.css';
import './styles/overlays.css';
import './styles/charts.css';
import { render } from 'preact';
import { answersAhead } from '@/shared/api/client';
import { loadIdentity } from '@/shared/api/identity';
import { startStream } from '@/shared/api/live';
import { begin } from './routes';
import { home } from '@/shared/hrefs';
import { navigate, startRouter } from '@/shared/router';
import { Shell } from './shell';

if (location.pathname === '/') navigate(home, { replace: true });
startRouter();
// Drawn once, with what it reads first, where that is there in time; otherwise as a frame that waits for it.
const patienceMs = 150;
const late = new Promise((tell) => setTimeout(tell, patienceMs));
void Promise.race([begin(location.pathname).then(answersAhead), late]).then(() => {
  startStream();
  loadIdentity().catch(() => {}); // the page says by itself when the server does not answer
  render(<Shell />, document.getElementById('app')!);
});
