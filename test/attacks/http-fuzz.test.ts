// Everything that answers HTTP is asked what makes little sense, as bytes on a socket: `npm run
// fuzz:http -- --seed 1 --requests 100000`.
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newPass } from '../../page/hosting/passes.ts';
import { newAddress } from '../../page/page-address.ts';
import { serveHostedPage, servePage } from '../../page/serve-page.ts';
import { ClientProblem } from '../../client/problem.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { serveMonitor } from '../../worker/monitor/serve-monitor.ts';
import { reply as said, startScriptedModel } from '../../scripted-model/index.ts';
import { anyRequest, type Face } from '../support/any-request.ts';
import { basic, stagedPorts } from '../support/page-ports.ts';
import { random } from '../support/random.ts';
import { callBlock, outcome, outcomes, reply, textBlock } from '../support/transcript.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 2_000);
/** On the way at once. */
const TOGETHER = 16;

const PATHS = [
  '/',
  '/?q=cost%3E1&after=x',
  '/live',
  '/bulk',
  '/static/style.css',
  '/schedules',
  '/schedules/live',
  '/sign-in',
  '/entered',
  '/?code=x',
  '/schedules/nightly/pause',
  '/sessions/s-1',
  '/sessions/s-1?at=2.17',
  '/sessions/s-1/timeline?at=1',
  '/sessions/s-1/transcript',
  '/sessions/s-1/items?before=1',
  '/sessions/s-1/entries/0/0',
  '/sessions/s-1/entries/0/media/0',
  '/sessions/s-1/live',
  '/sessions/s-1.jsonl',
  '/sessions/s-1.md',
  '/sessions/s-1/approve',
  '/sessions/s-1/send',
  '/sessions/s-1/options',
  '/sessions/s-1/topUp',
  '/sessions/s-1/aside',
  '/sessions/none',
] as const;
const API_PATHS = [
  '/api/v1/openapi.json',
  '/api/v1/sessions?filter=cost%3E1&size=10&open=true',
  '/api/v1/sessions',
  '/api/v1/sessions/s-1',
  '/api/v1/sessions/s-1/events?message=m&after=1',
  '/api/v1/sessions/s-1/events',
  '/api/v1/sessions/s-1/messages',
  '/api/v1/sessions/s-1/result?run=1',
  '/api/v1/sessions/s-1/transcript?from=0&size=5',
  '/api/v1/sessions/s-1/interrupt',
  '/api/v1/sessions/s-1/top-up',
  '/api/v1/sessions/s-1/aside',
  '/api/v1/sessions/s-1/options',
  '/api/v1/sessions/s-1/snip',
  '/api/v1/approvals',
  '/api/v1/sessions/s-1/approvals',
  '/api/v1/sessions/s-1/calls/1.1.0/approve',
  '/api/v1/sessions/s-1/calls/1.1.0/deny',
  '/api/v1/schedules',
  '/api/v1/schedules/nightly',
  '/api/v1/schedules/nightly/trigger',
] as const;
const BODIES = [
  '{"text":"x"}',
  '{"call":"1.1.0","inputHash":"h","input":"{}"}',
  '{"call":"1.1.0","reason":"no"}',
  '{"action":"cancel","sessions":["s-1"]}',
  '{"minutes":"1e400","maxTurns":"x"}',
  '{"model":"","permissionMode":"","allow":"","ask":"","deny":""}',
  '{"token":"guess"}',
] as const;
const API_BODIES = [
  '{"prompt":"Say hello.","options":{"maxTurns":20}}',
  '{"prompt":[{"type":"image"}]}',
  '{"prompt":"x","session":"s-1","now":true}',
  '{"maxTurns":-1}',
  '{"entries":[0,1e9]}',
  '{"input":{"__proto__":1}}',
  '{"reason":"no"}',
  '{"cron":"* * * * *","task":"x"}',
  '{"cron":"99 99 99 99 99","task":"x","timeZone":"Mars"}',
] as const;
const MODEL_PATHS = [
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/models',
  '/v1/models?limit=x&after_id=%',
  '/v1/models/claude-sonnet-5-5',
  '/v1/models/%zz',
] as const;
const MODEL_BODIES = [
  '{"model":"claude-sonnet-5-5","max_tokens":10,"messages":[{"role":"user","content":"x"}]}',
  '{"model":"claude-sonnet-5-5","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"x"}]}',
  '{"model":7,"messages":{}}',
  '{"model":"x","max_tokens":1e99,"messages":[],"tools":[null],"system":[7]}',
] as const;

const faces: Face[] = [];
const closing: (() => Promise<void>)[] = [];
const problems: unknown[] = [];
const noted = (error: unknown): void => void problems.push(error);

async function openPages(): Promise<void> {
  const entries = [reply([textBlock('said'), callBlock('a')]), outcomes(outcome(1, 'done'))];
  const read = (id: string) => Promise.reject(new ClientProblem('no_session', `no session ${id}`));
  const { ports } = await stagedPorts({ entries, ports: { read } });
  const address = newAddress();
  const page = await servePage(ports, { address, keep: () => undefined, letGo: () => undefined });
  const { hostname, port } = new URL(page.url);
  const authorization = `Authorization: ${basic(newPass(address.key, hostname))}`;
  const inside = [[authorization], [authorization, 'Sec-Fetch-Site: same-origin']] as const;
  const local = { port: Number(port), bodies: BODIES, origin: `http://${hostname}:${port}` } as const;
  faces.push({ ...local, name: 'page', hosts: [`${hostname}:${port}`], paths: PATHS, inside });
  const bearer = [[`Authorization: Bearer ${address.apiToken}`]] as const;
  const hosts = [`${hostname}:${port}`, `127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`] as const;
  faces.push({ ...local, name: 'API', hosts, paths: API_PATHS, inside: bearer, bodies: API_BODIES });
  await openHosted(ports);
  closing.push(() => page.close());
}

async function openHosted(ports: Parameters<typeof serveHostedPage>[0]): Promise<void> {
  const token = 'a'.repeat(40);
  const listen = { host: '127.0.0.1', port: await findFreePort() };
  const by = { kind: 'proxy', address: '127.0.0.1' } as const;
  const people = [{ name: 'ana', role: 'steer', token }] as const;
  const page = await serveHostedPage(ports, { name: 'ops.example', listen, people, by });
  const proxy = 'X-Forwarded-Proto: https';
  const inside = [
    [proxy, `Cookie: __Host-perdure=${newPass(token, 'ops.example')}`],
    [proxy, `Authorization: Bearer ${token}`],
  ] as const;
  const paths = [...PATHS, ...API_PATHS] as const;
  const at = { port: listen.port, hosts: ['ops.example'], origin: 'https://ops.example' } as const;
  faces.push({ ...at, name: 'hosted page', paths, inside, bodies: [...BODIES, ...API_BODIES] });
  closing.push(() => page.close());
}

beforeAll(async () => {
  process.on('uncaughtException', noted).on('unhandledRejection', noted);
  await openPages();
  const monitor = await serveMonitor('127.0.0.1:0', '--metrics');
  monitor.watch(() => Promise.resolve([]));
  monitor.add(() => Promise.resolve('perdure_x 1\n'));
  const port = Number(new URL(monitor.url).port);
  const paths = ['/metrics', '/healthz', '/readyz', '/nowhere'] as const;
  const hosts = [`127.0.0.1:${port}`, 'localhost', '[::1]:1'] as const;
  faces.push({ name: 'monitor', port, hosts, paths, inside: [[]], bodies: ['x'], origin: 'http://localhost' });
  const model = await startScriptedModel({ script: () => said('Hello.'), keep: 'none' });
  const key = [['Anthropic-Version: 2023-06-01', 'x-api-key: test']] as const;
  const modelFace = {
    name: 'scripted model',
    port: model.port,
    hosts: [`127.0.0.1:${model.port}`],
    origin: '',
  } as const;
  faces.push({ ...modelFace, paths: MODEL_PATHS, inside: key, bodies: MODEL_BODIES });
  closing.push(
    () => monitor.close(),
    () => model.close(),
  );
});
afterAll(async () => {
  for (const close of closing) await close();
  process.off('uncaughtException', noted).off('unhandledRejection', noted);
});

/** For which more of a request may come, as far as who is asked knows. */
const QUIET_MS = 200;

/**
 * The status, 0 where the connection was closed without one. Streams are left as soon as they
 * begin.
 */
function send(port: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    let heard = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const quiet = setTimeout(() => socket.end(), QUIET_MS);
    const done = (): void => {
      clearTimeout(quiet);
      socket.destroy();
      resolve(Number(/^HTTP\/1\.1 (\d{3}) /.exec(heard.replace(/^HTTP\/1\.1 100 [^\r]*\r\n\r\n/, ''))?.[1] ?? 0));
    };
    socket.setEncoding('latin1').on('data', (part: string) => {
      heard += part;
      if (/^HTTP\/1\.1 (?!100 )\d{3} [\s\S]*?\r\n\r\n/.test(heard)) done();
    });
    socket.once('error', done).once('close', done);
  });
}

test(`made requests end nothing, and none is answered 500 or under another host (seed ${SEED})`, async () => {
  const counts: Record<string, number> = {};
  const wrong: unknown[] = [];
  let sent = 0;
  const sender = async (): Promise<void> => {
    while (sent < REQUESTS && problems.length === 0) {
      // Each has a seed of its own: all are the same again, in whatever order they are answered.
      const any = random(Math.imul(SEED, 0x9e3779b1) + sent);
      sent += 1;
      const face = any.pick(faces as [Face, ...Face[]]);
      const { bytes, foreign } = anyRequest(any, face);
      const status = await send(face.port, bytes);
      counts[`${face.name} ${status}`] = (counts[`${face.name} ${status}`] ?? 0) + 1;
      // The scripted model has nothing to hide, and answers whoever asks.
      const answers = foreign && status < 400 && status !== 0 && face.name !== 'scripted model';
      if (status === 500 || answers) wrong.push([face.name, status, foreign, bytes.toString('latin1').slice(0, 600)]);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, sender));
  if (process.env['FUZZ_REQUESTS'] !== undefined) console.log(counts);
  expect([problems, wrong.slice(0, 5)]).toEqual([[], []]);
  for (const face of faces) expect(Object.keys(counts)).toContain(`${face.name} 200`);
}, 3_600_000);
