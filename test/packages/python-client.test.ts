// The block in Python of docs/embedding.md, on the server that every command starts, whose payloads
// are sealed: with Temporal's own SDK and the codec of examples/python-client.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { installPackages } from './python-packages.ts';

const root = join(import.meta.dirname, '../..');
const { folder, python, isMissing } = installPackages(['temporalio==1.35.0', 'cryptography']);
const run = promisify(execFile);

/** The documented block as a program that waits for the approval and prints what it got. */
function program(address: string, cwd: string): string {
  const page = readFileSync(join(root, 'docs/embedding.md'), 'utf8');
  const [, block = ''] = /```python\n(.*?)```/s.exec(page.slice(page.indexOf('## From other languages'))) ?? [];
  const [imports = '', body = ''] = block.split(/\n\n(?=client = )/);
  const waiting = `while not (view := await session.query("view"))["approvals"]:\n    await asyncio.sleep(0.1)`;
  const lines =
    `${body}\nlisted = [(row.id, await row.memo()) async for row in client.list_workflows()]\nprint(json.dumps([report, listed]))`
      .replace('localhost:7233', address)
      .replace('/srv/checkout', cwd)
      .replace('view = await session.query("view")', waiting)
      .split('\n');
  return [
    'import asyncio, json',
    imports,
    'async def main():',
    ...lines.map((line) => `    ${line}`),
    'asyncio.run(main())',
  ].join('\n');
}

test('the documented block in Python runs on the server that seals its payloads (Q4)', async () => {
  if (isMissing()) return;
  const script = [reply([toolUse('bash', { command: 'touch made' })]), reply('Made.'), reply('Looked.')];
  const place = cliPlace(await modelFor(script));
  await readyWorker(place);
  const { address } = JSON.parse(readFileSync(join(place.env['PERDURE_DATA'] ?? '', 'server.json'), 'utf8')) as {
    readonly address: string;
  };
  const path = join(folder, 'client.py');
  writeFileSync(path, program(address, place.cwd));
  const env = { ...place.env, PYTHONPATH: join(root, 'examples/python-client') };
  const [report, listed] = JSON.parse((await run(python, [path], { env })).stdout) as [object, [string, object][]];
  expect(report).toMatchObject({ reason: 'completed' });
  expect(listed).toMatchObject([['s-triage-1', { perdure: { cwd: place.cwd } }]]);
});
