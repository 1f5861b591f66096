// What is tried against the installation: the README's example over HTTP with an approval, workers
// that are killed while a call waits, a program of the Managed Agents API whose workers are killed,
// and new processes for old ones while sessions work.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const WORKERS = ['worker-1', 'worker-2'];
const PATIENCE_MS = 120_000;

/** The task of the README, to which the scripted model knows the answers. */
export function readmeTask(readme) {
  const [, task] = /npm start -- "([^"]+)"/.exec(readme) ?? [];
  if (task === undefined) throw new Error('the README has no example');
  return task;
}

/** @param {import('./bring-up.mjs').Installation} installation */
export async function runScenario(installation, { task, say }) {
  const api = openApi({ address: installation.addressOf('serve'), secrets: installation.volume('secrets') });
  for (const worker of WORKERS) writeFileSync(join(workspaceOf(installation, worker), 'main.ts'), 'let one = 1;\n');
  await approved(installation, api, { task, say });
  await killed(installation, api, { task, say });
  await managed(installation, { task, say });
  await upgraded(installation, api, { task, say });
}

const workspaceOf = (installation, worker) => installation.volume(`${worker}-work`);

async function approved(installation, api, { task, say }) {
  const { session } = await api.post('/sessions', { prompt: task });
  const call = await waitingCall(api, session);
  await decide(api, session, call);
  const events = await api.events(`/sessions/${session}/events?after=0`);
  assert.equal(events.at(-1).type, 'result');
  assert.equal(events.at(-1).reason, 'completed');
  const worker = hostOf(installation);
  assert.ok(readFileSync(join(workspaceOf(installation, worker), 'LINES.md'), 'utf8').includes('|'));
  say(`the README's example: approved over HTTP, completed on ${worker}`);
}

async function killed(installation, api, { task, say }) {
  const { session } = await api.post('/sessions', { prompt: task });
  const call = await waitingCall(api, session);
  await killWorkers(installation);
  await decide(api, session, call);
  await completed(api, session);
  say('both workers killed while a call waited, started again by the file: completed');
}

async function killWorkers(installation) {
  for (const worker of WORKERS) {
    const { ended } = installation.container(worker);
    installation.container(worker).signal('SIGKILL');
    assert.notEqual(await ended, 0);
  }
}

const MANAGED = fileURLToPath(new URL('managed-program.mjs', import.meta.url));

async function managed(installation, { task, say }) {
  const secrets = installation.volume('secrets');
  // The program knows the page's name and its certificate, as a machine elsewhere would.
  const hosts = join(secrets, '..', 'hosts-elsewhere');
  writeFileSync(hosts, `127.0.0.1 localhost\n${installation.addressOf('serve')} ${PAGE_NAME}\n`);
  execFileSync('mount', ['--bind', hosts, '/etc/hosts']);
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(secrets, 'tls.crt') };
  const args = [MANAGED, `https://${PAGE_NAME}:${PAGE_PORT}`, tokenIn(secrets), task];
  const program = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(program, 'exit');
  const events = [];
  for await (const line of createInterface({ input: program.stdout })) {
    events.push(JSON.parse(line));
    if (events.at(-1).type === 'session.status_running' && events.length === 1) await killWorkers(installation);
  }
  const [status] = await exit;
  assert.equal(status, 0);
  const { session, listed, text } = events.at(-1);
  assert.deepEqual(
    listed.filter((type) => type === 'user.message'),
    ['user.message', 'user.message'],
  );
  assert.ok(listed.includes('agent.tool_use') && text.length > 0);
  const worker = WORKERS.find((name) => existsSync(join(workspaceOf(installation, name), session, 'LINES.md')));
  assert.ok(worker, 'no worker has the folder of the managed session');
  say(`a program of the Managed Agents API, its workers killed amid its first turn: answered twice by ${worker}`);
}

const tokenIn = (secrets) => JSON.parse(readFileSync(join(secrets, 'people.json'), 'utf8'))[0].token;

async function upgraded(installation, api, { task, say }) {
  const sessions = await Promise.all(Array.from({ length: 4 }, () => api.post('/sessions', { prompt: task })));
  const done = Promise.all(
    sessions.map(async ({ session }) => {
      await decide(api, session, await waitingCall(api, session));
      await completed(api, session);
    }),
  );
  const statuses = [];
  for (const name of [...WORKERS, 'serve']) statuses.push(await installation.restart(name).catch((error) => error));
  await done;
  assert.deepEqual(statuses, [0, 0, 0]);
  say('every process replaced, one after the other, under four sessions: all stopped with 0, all completed');
}

function hostOf(installation) {
  const worker = WORKERS.find((name) => existsSync(join(workspaceOf(installation, name), 'LINES.md')));
  assert.ok(worker, 'no workspace has LINES.md');
  return worker;
}

async function waitingCall(api, session) {
  return until(async () => {
    const { approvals } = await api.get(`/sessions/${session}/approvals`);
    return approvals[0]?.call;
  });
}

const decide = (api, session, call) =>
  until(() => api.post(`/sessions/${session}/calls/${call}/approve`, undefined, `approve-${session}-${call}`));

async function completed(api, session) {
  const result = await until(async () => (await api.get(`/sessions/${session}/result`)).result);
  assert.equal(result.reason, 'completed');
}

/** The server of the page may be away while it is replaced. */
async function until(look) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look().catch((error) => (Date.now() > end ? Promise.reject(error) : null));
    if (found) return found;
    if (Date.now() > end) throw new Error('waited in vain');
    await sleep(200);
  }
}

const PAGE_NAME = 'perdure.localhost';
const PAGE_PORT = 8443;

/**
 * The HTTP API as a program elsewhere calls it: over TLS, under the page's name, with a person's
 * token.
 * @param {{ address: string, secrets: string }} at
 */
function openApi({ address, secrets }) {
  const ca = readFileSync(join(secrets, 'tls.crt'));
  const headers = {
    host: `${PAGE_NAME}:${PAGE_PORT}`,
    authorization: `Bearer ${tokenIn(secrets)}`,
    'content-type': 'application/json',
  };
  const ask = (method, path, { body, key, wait = 60_000 } = {}) =>
    new Promise((resolve, reject) => {
      const options = { method, host: address, port: PAGE_PORT, path: `/api/v1${path}`, servername: PAGE_NAME, ca };
      const sending = key === undefined ? headers : { ...headers, 'idempotency-key': key };
      const sent = request({ ...options, headers: sending, timeout: wait }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part) => (text += part));
        answer.on('error', reject).on('end', () => resolve({ status: answer.statusCode, text }));
      });
      sent.on('error', reject).on('timeout', () => sent.destroy(new Error(`${path} did not answer`)));
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const json = async (method, path, sent) => {
    const { status, text } = await ask(method, path, sent);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`);
    return JSON.parse(text);
  };
  return {
    get: (path) => json('GET', path),
    /** With a key a request may be sent again: it counts once. */
    post: (path, body, key) => json('POST', path, { body, key }),
    /** All events of a stream, once it has ended. */
    events: async (path) => {
      const { status, text } = await ask('GET', path, { wait: 120_000 });
      if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
      return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
    },
  };
}
