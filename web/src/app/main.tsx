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
import { startStream } from '@/shared/api/live';
import { begin, home } from './routes';
import { navigate, startRouter } from './router';
import { Shell } from './shell';

if (location.pathname === '/') navigate(home, { replace: true });
begin(location.pathname);
startRouter();
startStream();
render(<Shell />, document.getElementById('app')!);
