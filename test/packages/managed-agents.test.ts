// Programs of the Managed Agents API in other languages, with the SDKs as they are published,
// against `perdure serve --managed` and a worker.
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { reasonOf } from '../../system/text.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { installPackages } from './python-packages.ts';

const GO_SDK = 'github.com/anthropics/anthropic-sdk-go/v2@v2.15.0';
const programs = join(import.meta.dirname, 'managed');
const { python, isMissing } = installPackages(['anthropic==2.10.0']);
const run = promisify(execFile);

/** Serves; the model writes a file, and then talks until a turn is interrupted. */
async function serve() {
  const { hold, release } = gate();
  onTestFinished(release);
  const place = cliPlace(
    await modelFor([
      reply([toolUse('write', { file_path: 'a.txt', content: 'Hello.\n' })]),
      reply('Written.'),
      reply('Hello to you, in more than one piece.', { deltaChars: 5 }),
      reply('This is never ended.', { hold, holdAfterEvent: 4 }),
    ]),
  );
  const look = 'l'.repeat(40);
  mkdirSync(place.data, { recursive: true, mode: 0o700 });
  const people = join(place.data, 'people.json');
  writeFileSync(people, JSON.stringify([{ name: 'ana', role: 'look', token: look }]), { mode: 0o600 });
  const port = await findFreePort();
  const agents = join(place.root, 'agents');
  const server = place.start(['serve', '--port', `${port}`, '--managed', agents, '--page-tokens', people]);
  await Promise.race([until(() => server.out().includes('managed agents ')), server.status]);
  expect(server.out(), server.err()).toContain('managed agents ');
  await readyWorker(place);
  const owner = (await place.run('serve', '--token')).out.trim();
  const env = { ...place.env, BASE_URL: `http://127.0.0.1:${port}`, OWNER_TOKEN: owner, LOOK_TOKEN: look };
  return { env };
}

const turn = [
  'user.message',
  'session.status_running',
  'span.model_request_start',
  'agent.tool_use',
  'span.model_request_end',
  'agent.tool_result',
  'span.model_request_start',
  'agent.message',
  'span.model_request_end',
  'session.usage',
  'session.status_idle',
];

/** By what was wrong: the status, the type, and whether it has a request's id. */
const errors = {
  bad: [400, 'invalid_request_error', true],
  unknown: [401, 'authentication_error', true],
  role: [403, 'permission_error', true],
  missing: [404, 'not_found_error', true],
  notServed: [404, 'not_found_error', true],
  conflict: [409, 'invalid_request_error', true],
  large: [413, 'invalid_request_error', true],
};
const classes: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  409: 'ConflictError',
  413: 'ContentTooLargeError',
};

const seen = {
  networking: ['limited', 'limited'],
  streamed: turn,
  same: true,
  input: { file_path: 'a.txt', content: 'Hello.\n' },
  result: expect.stringContaining('created a.txt') as string,
  status: ['idle', 'terminated'],
  deleted: ['session_deleted', 'environment_deleted'],
  archivedAgent: true,
};

test('the Python SDK, blocking and asynchronous, does each served method and reads each error (8.1 A2)', async () => {
  if (isMissing()) return;
  const { env } = await serve();
  const { stdout } = await run(python, [join(programs, 'program.py')], { env });
  const named = Object.entries(errors).map(([name, error]) => [name, [classes[error[0] as number], ...error]]);
  expect(JSON.parse(stdout)).toEqual({
    blocking: {
      ...seen,
      versions: [2, 1],
      agents: true,
      retrieved: true,
      environments: true,
      environment: 'cloud',
      newest: 'session.status_idle',
      titled: ['Two', { a: 'b' }],
      closed: ['BadRequestError', ...errors.bad],
      errors: Object.fromEntries(named),
      gone: ['NotFoundError', ...errors.missing],
    },
    asynchronous: {
      said: 'Hello to you, in more than one piece.',
      prefix: true,
      interrupted: 1,
      last: 'session.status_idle',
      sessions: true,
    },
  });
});

/** Returns the path of the built program; null where the SDK cannot be had. */
async function buildGo(): Promise<string | null> {
  const folder = tempDir();
  copyFileSync(join(programs, 'program.go'), join(folder, 'main.go'));
  try {
    await run('go', ['mod', 'init', 'perdure.example/managed'], { cwd: folder });
    await run('go', ['get', GO_SDK], { cwd: folder });
    await run('go', ['build', '-o', 'program', '.'], { cwd: folder });
  } catch (error) {
    console.warn(`${GO_SDK} cannot be built here: ${reasonOf(error).slice(0, 2_000)}`);
    return null;
  }
  return join(folder, 'program');
}

test('the Go SDK does each served method and reads each error (8.1 A3)', async () => {
  const program = await buildGo();
  if (program === null) return;
  const { env } = await serve();
  const { stdout } = await run(program, [], { env });
  expect(JSON.parse(stdout)).toEqual({
    ...seen,
    versions: 2,
    version: 2,
    agents: 1,
    environments: 1,
    environment: 'env_default',
    title: 'Two',
    sessions: 1,
    closed: errors.bad,
    errors,
    gone: errors.missing,
  });
});
