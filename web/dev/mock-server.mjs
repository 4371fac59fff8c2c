// Serves the built dashboard over a made-up, moving API, with the headers of the real server. For
// development:
//   npm run build && npm run mock [-- --port 8180 --speed 1 --empty --no-stream --phase 24]
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answerAs } from './described.mjs';
import { act, answer } from './mock-world.mjs';

const flag = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : (process.argv[at + 1] ?? '');
};
const has = (name) => process.argv.includes(`--${name}`);
const dist = fileURLToPath(new URL('../dist', import.meta.url));
const speed = Number(flag('speed', '1'));
let phase = Number(flag('phase', '24'));
let cursor = 100;
const streams = new Set();

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};
const headers = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};

function send(event, stored) {
  const id = stored ? `id: ${(cursor += 1)}\n` : '';
  const data = {
    cursor: String(cursor),
    events: [{ id: stored ? String(cursor) : '0', time: new Date().toISOString(), ...event }],
    truncated: false,
  };
  for (const stream of streams) stream.write(`${id}event: change\ndata: ${JSON.stringify(data)}\n\n`);
}

function advance() {
  const before = Math.floor(phase / 2);
  phase += 0.1 * speed;
  send({ subject: 'experiments/fashion-mnist-priors', kind: 'points', json: '{}' }, false);
  send({ subject: 'experiments/fashion-mnist-priors', kind: 'progress', json: '{}' }, false);
  if (Math.floor(phase / 2) !== before && before < 30) {
    send(
      {
        subject: `stages/${1000 + 2 * before}`,
        kind: 'stage-state',
        json: '{"experiments":["fashion-mnist-priors"],"state":"succeeded"}',
      },
      true,
    );
  }
}

async function bodyOf(request) {
  let text = '';
  for await (const part of request) text += part;
  return text === '' ? {} : JSON.parse(text);
}

function refuse(response, code, status, message) {
  response.writeHead(code, { ...headers, 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ error: { code, status, message, details: [] } }));
}

async function api(request, response, url) {
  const path = url.pathname.slice('/api/v1'.length);
  if (path === '/events') {
    if (has('no-stream')) return void response.writeHead(503).end();
    response.writeHead(200, { ...headers, 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    response.write(': hello\n\n');
    streams.add(response);
    return void request.on('close', () => streams.delete(response));
  }
  let body;
  try {
    body =
      request.method === 'POST'
        ? act(decodeURIComponent(path), url.searchParams, await bodyOf(request), phase)
        : answer(decodeURIComponent(path), url.searchParams, phase);
  } catch (error) {
    return void refuse(response, 400, 'INVALID_ARGUMENT', error.message);
  }
  if (has('empty') && (path === '/experiments' || path === '/workers')) body = answerAs('GET', path, {});
  if (body === null) return void refuse(response, 404, 'NOT_FOUND', `there is nothing at ${path}`);
  response.writeHead(200, { ...headers, 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

function file(response, url) {
  const wanted = normalize(decodeURIComponent(url.pathname)).replace(/^(\.\.[/\\])+/, '');
  const path = extname(wanted) === '' ? join(dist, 'index.html') : join(dist, wanted);
  if (!path.startsWith(dist) || !existsSync(path) || !statSync(path).isFile())
    return void response.writeHead(404, headers).end('not found');
  response.writeHead(200, { ...headers, 'Content-Type': types[extname(path)] ?? 'application/octet-stream' });
  createReadStream(path).pipe(response);
}

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname.startsWith('/api/')) void api(request, response, url);
  else file(response, url);
});
server.listen(Number(flag('port', '8180')), '127.0.0.1', () =>
  console.log(`mock: http://127.0.0.1:${server.address().port}/`),
);
const clocks = [
  setInterval(advance, 1000),
  setInterval(() => streams.forEach((stream) => stream.write(': alive\n\n')), 15_000),
];
process.on('SIGTERM', () => {
  clocks.forEach(clearInterval);
  server.closeAllConnections?.();
  server.close(() => process.exit(0));
});
