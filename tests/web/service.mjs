// Starts the real server and worker on free loopback ports with a temporary data folder, for tests that need
// a living service.
// LOCUS_BIN names the `locus` executable or its folder; LOCUS_WEB another build of the dashboard than
// web/dist.
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

// Asks again until `look` gives something true; says what was waited for when it never does.
export async function until(what, look, timeoutMs = 30_000) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`);
    await new Promise((again) => setTimeout(again, 50));
  }
}

function locusPath() {
  const named = resolve(process.env.LOCUS_BIN ?? join(root, 'build/release/bin'));
  const path = existsSync(named) && statSync(named).isDirectory() ? join(named, 'locus') : named;
  if (!existsSync(path))
    throw new Error(`there is no ${path}; build it, or name the locus executable in LOCUS_BIN`);
  return path;
}

// One child process with what it said.
class Child {
  constructor(name, path, args) {
    this.name = name;
    this.output = '';
    this.process = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.on('data', (chunk) => {
        this.output = (this.output + chunk).slice(-20_000);
      });
    }
    this.ended = new Promise((tell) => this.process.on('exit', (code, signal) => tell(code ?? signal)));
  }
  get alive() {
    return this.process.exitCode === null && this.process.signalCode === null;
  }
  // Asks it to end and returns its exit status; kills one that will not.
  async stop() {
    if (!this.alive) return this.ended;
    this.process.kill('SIGTERM');
    const killer = setTimeout(() => this.process.kill('SIGKILL'), 20_000);
    const status = await this.ended;
    clearTimeout(killer);
    return status;
  }
}

export class Service {
  constructor() {
    this.locus = locusPath();
    this.folder = mkdtempSync(join(tmpdir(), 'locus-web-'));
    this.data = join(this.folder, 'data');
    this.children = [];
    this.addresses = { grpc: '127.0.0.1:0', http: '127.0.0.1:0' };
  }

  // Serves; a second call, after stopServer, at the same addresses.
  async startServer() {
    const web = process.env.LOCUS_WEB ? resolve(process.env.LOCUS_WEB) : join(root, 'web/dist');
    if (!existsSync(join(web, 'index.html')))
      throw new Error(`there is no dashboard in ${web}; run npm run build in web/`);
    const { grpc, http } = this.addresses;
    this.server = new Child('server', this.locus, [
      'serve',
      '--data',
      this.data,
      '--grpc-address',
      grpc,
      '--http-address',
      http,
      '--web',
      web,
    ]);
    this.children.push(this.server);
    const file = join(this.data, 'server.json');
    const found = await until('server.json', () => {
      if (!this.server.alive) throw new Error(`the server ended:\n${this.server.output}`);
      if (!existsSync(file)) return null;
      const stated = JSON.parse(readFileSync(file, 'utf8'));
      return stated.pid === this.server.process.pid ? stated : null;
    });
    this.addresses = { grpc: found.grpc, http: found.http };
    this.url = `http://${found.http}`;
  }

  async stopServer() {
    const status = await this.server.stop();
    if (status !== 0) throw new Error(`the server ended with ${status}:\n${this.server.output}`);
  }

  startWorker(slots) {
    this.worker = new Child('worker', this.locus, [
      'worker',
      '--server',
      this.addresses.grpc,
      '--slots',
      String(slots),
      '--work',
      join(this.folder, 'work'),
    ]);
    this.children.push(this.worker);
  }

  // Runs a client command and returns what it printed.
  async client(command, ...args) {
    const { stdout } = await run(this.locus, [command, '--server', this.addresses.grpc, ...args]);
    return stdout;
  }

  report() {
    return this.children.map((child) => `--- ${child.name}\n${child.output.slice(-4000)}`).join('\n');
  }

  async close() {
    for (const child of [...this.children].reverse()) await child.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
