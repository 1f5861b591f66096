// examples/temporal-worker as its README says, from the packed tarball: what its owner had stays
// theirs, and the agent is in it.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, inject, onTestFinished, test } from 'vitest';
import { reply, toolUse, type ScriptedModel } from '../../scripted-model/index.ts';
import { modelFor } from '../support/cli.ts';
import { tempDir } from '../support/temp-dir.ts';
import { needed, PROGRAMS } from '../support/packed-project.ts';
import { copiesOf, emptyProject, root, runProgram } from './empty-project.ts';

const lines = (text: string): readonly Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Compiled with its own tsconfig.json, against the types of the tarball. */
async function builtExample(project: string): Promise<string> {
  const folder = join(project, 'temporal-worker');
  cpSync(join(root, 'examples/temporal-worker'), folder, { recursive: true });
  const tsc = join(project, 'node_modules/typescript/bin/tsc');
  expect(await runProgram(process.execPath, [tsc, '-p', folder], { cwd: folder })).toEqual({
    status: 0,
    out: '',
    err: '',
  });
  return join(folder, 'lib');
}

const placeOf = (cwd: string, model: ScriptedModel) => ({
  PATH: process.env.PATH,
  HOME: cwd,
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  PERDURE_DATA: tempDir(),
  ANTHROPIC_API_KEY: 'test',
  ANTHROPIC_BASE_URL: model.url,
  TRIAGE_KEY: randomBytes(32).toString('hex'),
});

function startWorker(lib: string, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
  const child = spawn(process.execPath, [join(lib, 'worker.js')], { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let log = '';
  child.stderr.on('data', (bytes: Buffer) => (log += bytes.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    /** Its exit status, and what it logged. */
    end: async () => {
      child.kill('SIGTERM');
      return { status: await ended, log };
    },
  };
}

/**
 * Of a workflow's history, without the key: how its payloads are encoded, and what can be read of
 * them.
 */
async function readAsServer(client: Client, workflowId: string) {
  const history = JSON.stringify(await client.workflow.getHandle(workflowId).fetchHistory());
  const values = (name: string): string[] =>
    [...history.matchAll(new RegExp(`"${name}":"([^"]+)"`, 'g'))].map(([, value = '']) =>
      Buffer.from(value, 'base64').toString('latin1'),
    );
  return { encodings: new Set(values('encoding')), data: values('data').join('\n') };
}

test('a Temporal worker gets agents from the tarball: its queue, codec, trace, logger and activities stay (Q3 Q4)', async () => {
  const lib = await builtExample(inject('npmProject'));
  const cwd = tempDir();
  writeFileSync(join(cwd, 'issue-7.md'), 'Crash on an empty cart\n\nThe page fails when the cart is empty.\n');
  writeFileSync(join(cwd, 'cart.ts'), 'export const total = (cart) => cart.items[0].price;\n');
  const model = await modelFor([
    reply([toolUse('grep', { pattern: 'cart', output_mode: 'content' })]),
    reply('cart.ts: an empty cart has no first item.'),
  ]);
  const env = placeOf(cwd, model);
  const worker = startWorker(lib, { cwd, env });
  const triaged = await runProgram(process.execPath, [join(lib, 'triage.js'), '7'], { cwd, env });
  expect(triaged).toMatchObject({ status: 0, out: 'issue-7.comment.md\n' });
  const comment = readFileSync(join(cwd, 'issue-7.comment.md'), 'utf8');
  expect(comment).toBe('cart.ts: an empty cart has no first item.\n');
  const { status, log } = await worker.end();
  expect(status).toBe(0);

  const connection = await Connection.connect({ address: inject('temporalAddress') });
  onTestFinished(() => connection.close());
  const client = new Client({ connection });
  const query = "TaskQueue = 'triage'";
  const { executions } = await client.workflowService.listWorkflowExecutions({ namespace: 'default', query });
  expect(executions.map(({ type }) => type?.name ?? '').toSorted()).toEqual(['perdure.agentSession', 'triage']);
  for (const { execution } of executions) {
    const { encodings, data } = await readAsServer(client, execution?.workflowId ?? '');
    expect(encodings).toContain('binary/triage');
    expect(data).not.toMatch(/cart|issue/i);
  }

  const spans = lines(readFileSync(join(cwd, 'spans.jsonl'), 'utf8'));
  const [start] = spans.filter(({ name }) => name === 'StartWorkflow:triage');
  const traced = spans.filter(({ traceId }) => traceId === start?.['traceId']).map(({ name }) => name);
  expect(traced).toEqual(
    expect.arrayContaining([
      'RunActivity:fetchIssue',
      'StartChildWorkflow:perdure.agentSession',
      'RunActivity:perdure.callModel',
      'RunActivity:perdure.commit',
      'RunActivity:fileComment',
    ]),
  );

  const logged = lines(log);
  expect(logged.every(({ app }) => app === 'triage')).toBe(true);
  expect(logged).toContainEqual(expect.objectContaining({ message: 'issue fetched', issue: 7 }));
});

test('the same program runs on the oldest Temporal SDK that is taken, beside packages that want just that one (Q1 Q3)', async () => {
  const oldest = needed('temporal-worker').map((each) => each.replace(/^(@temporalio\/.+)@.+$/, '$1@1.23.0'));
  const exact = ['@temporalio/interceptors-opentelemetry-v2@1.23.0'];
  const folder = join(tempDir(), 'oldest');
  await emptyProject(folder, inject('tarball'), 'npm', [...PROGRAMS, ...oldest, ...exact]);
  expect(copiesOf('@temporalio', folder).get('workflow')).toHaveLength(1);
  const lib = await builtExample(folder);
  const cwd = tempDir();
  writeFileSync(join(cwd, 'issue-8.md'), 'A typo\n');
  const model = await modelFor([reply('There is none.')]);
  const env = placeOf(cwd, model);
  const worker = startWorker(lib, { cwd, env });
  const triaged = await runProgram(process.execPath, [join(lib, 'triage.js'), '8'], { cwd, env });
  expect(triaged).toMatchObject({ status: 0, out: 'issue-8.comment.md\n' });
  expect((await worker.end()).status).toBe(0);
});
