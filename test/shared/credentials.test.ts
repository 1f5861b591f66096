// Credentials of a bucket, in the environment of a worker: nothing that is stored, recorded, logged
// or shown has a piece of one (W3).
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { expect, inject, onTestFinished, test } from 'vitest';
import { s3Objects } from '../../store/values/s3/s3-objects.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { faultyProxy } from '../support/faulty-proxy.ts';
import { ownNamespace } from '../support/own-namespace.ts';
import { BUCKET, S3_CANARY, S3_KEYS } from '../support/s3-gateway.ts';
import { useS3Keys } from '../support/shared-store.ts';
import { until } from '../support/until.ts';

/** Payloads lie in it as base64: their bytes are looked at too. */
function textOf(message: unknown): string {
  if (message instanceof Uint8Array) return Buffer.from(message).toString('latin1');
  if (typeof message !== 'object' || message === null) return String(message);
  return Object.entries(message)
    .map(([name, value]) => `${name} ${textOf(value)}`)
    .join('\n');
}

function filesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

test('no record, value, log line, event, memo, failure or message has a piece of a credential (W3)', async () => {
  useS3Keys();
  let echoes = false;
  const { endpoint } = await faultyProxy(inject('s3Endpoint'), {
    fault: ({ method, path }) => (echoes && method === 'PUT' && path.includes('/blobs/') ? 'echo' : null),
  });
  const looks = 'env; cat /proc/self/environ /proc/$PPID/environ 2>&1 | tr "\\0" "\\n"; set';
  const model = await modelFor([
    reply([toolUse('bash', { command: looks })]),
    reply('Done.'),
    ...Array.from({ length: 20 }, () => reply('Again.')),
  ]);
  const namespace = await ownNamespace(inject('temporalAddress'));
  const prefix = randomUUID();
  const place = cliPlace(model);
  Object.assign(place.env, namespace, S3_KEYS, {
    AWS_ENDPOINT_URL_S3: endpoint,
    PERDURE_STORE: `s3://${BUCKET}/${prefix}`,
  });
  const worker = place.start(['worker', '--verbose']);
  await until(() => worker.out().includes('worker ready'));
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  onTestFinished(() => connection.close());
  const client = new Client({ connection, namespace: namespace['TEMPORAL_NAMESPACE'] ?? '' });
  const shown: string[] = [];
  const run = async (...args: readonly string[]): Promise<string> => {
    const { out, err } = await place.run(...args);
    shown.push(out, err);
    return out;
  };
  const id = String(jsonLines(await run('run', '--permission-mode', 'bypass', '--json', 'go')).at(-1)?.sessionId);
  const handle = client.workflow.getHandle(id);
  echoes = true;
  // Too long for a message: the command that stores it is refused, and says why.
  await run('--verbose', 'send', id, 'a long text '.repeat(500));
  await run('send', id, 'short');
  const failing = await until(async () => {
    const { raw } = await handle.describe();
    return raw.pendingActivities?.some(({ lastFailure }) => lastFailure) ? raw : null;
  });
  echoes = false;
  await run('watch', id, '--json');
  for (const args of [['show', '--full', id], ['list', '--json'], ['doctor'], ['gc', '--dry-run']]) await run(...args);
  worker.signal('SIGTERM');
  await worker.status;
  const objects = s3Objects({ bucket: BUCKET, prefix, endpoint: inject('s3Endpoint') });
  const stored: string[] = [];
  for await (const { name } of objects.list(''))
    stored.push(name, Buffer.from((await objects.get(name)) ?? []).toString('latin1'));
  const everything: Readonly<Record<string, string>> = {
    failure: textOf(failing),
    history: textOf(await handle.fetchHistory()),
    memo: textOf((await handle.describe()).raw),
    stored: stored.join('\n'),
    disk: filesBelow(place.data),
    worker: worker.out() + worker.err(),
    shown: shown.join('\n'),
  };
  expect(everything['shown']).toContain('[redacted]');
  expect(everything['stored']).toContain('PERDURE');
  const leaks = Object.entries(everything).flatMap(([where, text]) => {
    const at = text.indexOf(S3_CANARY);
    return at < 0 ? [] : [`${where}: ${text.slice(Math.max(0, at - 200), at + 50)}`];
  });
  expect(leaks).toEqual([]);
});

/** The gateway knows no session tokens. */
test('a service that repeats access key, signature and session token is told of without them (W3)', async () => {
  useS3Keys();
  process.env['AWS_SESSION_TOKEN'] = `a-session-token-${S3_CANARY}-of-a-role`;
  onTestFinished(useS3Keys);
  const { endpoint } = await faultyProxy(inject('s3Endpoint'), { fault: () => 'echo' });
  const objects = s3Objects({ bucket: BUCKET, prefix: 'x', endpoint });
  const thrown = await objects.put('blobs/x', Buffer.from('x')).catch((error: unknown) => error as Error);
  const { message, stack, cause } = thrown as Error;
  const shown = inspect([message, stack, cause], { depth: 10 });
  expect(shown).toContain('x-amz-security-token');
  expect(shown).toContain('[redacted]');
  expect(shown).not.toContain(S3_CANARY);
});
