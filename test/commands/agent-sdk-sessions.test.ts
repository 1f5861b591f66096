// The functions about sessions that programs for in-process agents import, on sessions of query().
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { reply, text, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';

const PROGRAM = `
  const sdk = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/client/agent-sdk/index.js'))});
  const ask = async (prompt) => {
    for await (const message of sdk.query({ prompt, options: { permissionMode: 'bypassPermissions', tools: ['Glob'] } }))
      if (message.type === 'result') return message.session_id;
  };
  const told = (name, value) => console.log(JSON.stringify({ name, value }));
  const [one, two] = [await ask('Look around.'), await ask('And again.')];
  const dir = process.cwd();
  told('listed', (await sdk.listSessions({ dir })).map(({ sessionId }) => [one, two].indexOf(sessionId)));
  told('elsewhere', await sdk.listSessions({ dir: '/nowhere' }));
  await sdk.renameSession(one, ' The look around ');
  await sdk.tagSession(one, 'survey');
  told('info', await sdk.getSessionInfo(one));
  await sdk.tagSession(one, null);
  told('untagged', (await sdk.getSessionInfo(one)).tag ?? null);
  const messages = await sdk.getSessionMessages(one);
  told('messages', messages.map(({ type, message }) => [type, message.content]));
  told('page', (await sdk.getSessionMessages(one, { offset: 1, limit: 1 })).map(({ uuid }) => messages.findIndex((each) => each.uuid === uuid)));
  const store = new sdk.InMemorySessionStore();
  await sdk.importSessionToStore(one, store);
  told('copied', store.getEntries({ projectKey: '', sessionId: one }).length);
  await sdk.deleteSession(one);
  told('gone', [await sdk.getSessionInfo(one) ?? null, await sdk.getSessionMessages(one)]);
  for (const [name, refused] of Object.entries({
    rename: () => sdk.renameSession(one, 'x'),
    delete: () => sdk.deleteSession('never-was'),
    fork: () => sdk.forkSession('never-was'),
    store: () => sdk.listSessions({ sessionStore: store }),
  })) told(name, await refused().then(() => null, (error) => error.message));
  const prepared = await sdk.startup({ options: { tools: [] } });
  for await (const message of prepared.query('Last.')) if (message.type === 'result') told('prepared', message.result);`;

test('sessions of query() are listed, read, named, copied and deleted by the functions that such programs know (Q7)', async () => {
  const model = await modelFor([
    reply([toolUse('glob', { pattern: '*' })]),
    reply([text('Nothing is there.')]),
    reply('Still nothing.'),
    reply('Ready.'),
  ]);
  const { cwd, env } = cliPlace(model);
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], { cwd, env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  expect({ status, err }).toMatchObject({ status: 0 });
  const told = new Map(
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly name: string; readonly value: unknown })
      .map(({ name, value }) => [name, value] as const),
  );
  expect(told.get('listed')).toEqual([1, 0]);
  expect(told.get('elsewhere')).toEqual([]);
  const facts = {
    customTitle: 'The look around',
    summary: 'The look around',
    tag: 'survey',
    firstPrompt: 'Look around.',
    cwd,
  };
  expect(told.get('info')).toMatchObject(facts);
  expect(told.get('untagged')).toBeNull();
  expect(told.get('messages')).toMatchObject([
    ['user', 'Look around.'],
    ['assistant', [{ type: 'tool_use', name: 'Glob', input: { pattern: '*' } }]],
    ['user', [{ type: 'tool_result' }]],
    ['assistant', [{ type: 'text', text: 'Nothing is there.' }]],
  ]);
  expect(told.get('page')).toEqual([1]);
  expect(told.get('copied')).toBe(4);
  expect(told.get('gone')).toEqual([null, []]);
  expect(told.get('rename')).toMatch(/^Session \S+ not found: /);
  expect(told.get('delete')).toMatch(/^Session never-was not found: /);
  expect(told.get('fork')).toMatch(/^Session never-was not found: /);
  expect(told.get('store')).toMatch(/"sessionStore" is refused/);
  expect(told.get('prepared')).toBe('Ready.');
});
