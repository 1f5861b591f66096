// Programs for in-process agents that fork their sessions, go back in them, and bring files back
// (T6 T10).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';

const PROGRAM = `
  import { existsSync } from 'node:fs';
  const sdk = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/client/agent-sdk/index.js'))});
  const told = (name, value) => console.log(JSON.stringify({ name, value }));
  const base = { permissionMode: 'bypassPermissions', tools: ['Bash'], env: { ...process.env } };
  const ask = async (prompt, options = {}) => {
    const seen = { uuids: [] };
    for await (const message of sdk.query({ prompt, options: { ...base, ...options } })) {
      if (message.type === 'assistant') seen.uuids.push(message.uuid);
      if (message.type === 'result') Object.assign(seen, { session: message.session_id, result: message.result });
    }
    return seen;
  };
  const texts = async (session) => (await sdk.getSessionMessages(session)).flatMap(({ type, message: { content } }) =>
    type === 'user' ? [content] : content.flatMap(({ text }) => text ?? []));
  const one = await ask('One.');
  const two = await ask('Two.', { resume: one.session });
  const forked = await ask('Fork.', { resume: one.session, forkSession: true, resumeSessionAt: one.uuids[0] });
  told('forked', [forked.session === one.session, await texts(forked.session)]);
  const named = await ask('Named.', { continue: true, forkSession: true, sessionId: 's-named' });
  told('named', [named.session, named.result]);
  const { sessionId } = await sdk.forkSession(one.session, { upToMessageId: one.uuids[0], title: 'Mine' });
  told('function', [await texts(sessionId), (await sdk.getSessionInfo(sessionId)).summary]);
  told('resumed', (await ask('On it.', { resume: sessionId })).result);
  const dropped = (await sdk.getSessionMessages(one.session)).find(({ message }) => message.content === 'Two.').uuid;
  const foreign = await ask('No.', { resume: one.session, resumeSessionAt: one.uuids[0], resumeDropsTurn: one.uuids[0] })
    .catch((error) => error.message);
  told('foreign', foreign);
  await ask('Instead.', { resume: one.session, resumeSessionAt: one.uuids[0], resumeDropsTurn: dropped });
  told('instead', await texts(one.session));

  const start = (await sdk.getSessionMessages(one.session)).find(({ message }) => message.content === 'One.').uuid;
  await ask('Anew.', { resume: one.session, resumeSessionAt: start });
  told('anew', await texts(one.session));
  const { sessionId: unnamed } = await sdk.forkSession(one.session);
  told('unnamed', (await sdk.getSessionInfo(unnamed)).summary);

  let next;
  const wait = new Promise((resolve) => (next = resolve));
  const uuid = crypto.randomUUID();
  const say = (content, more) => ({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, ...more });
  async function* prompts() {
    yield say('Make it.', { uuid });
    await wait;
  }
  const query = sdk.query({ prompt: prompts(), options: { ...base, enableFileCheckpointing: true } });
  for await (const message of query) {
    if (message.type !== 'result') continue;
    told('dry', [await query.rewindFiles(uuid, { dryRun: true }), existsSync('made')]);
    told('back', [await query.rewindFiles(uuid), existsSync('made')]);
    told('never', await query.rewindFiles('never-was'));
    next();
  }
  told('off', await sdk.query({ prompt: 'x', options: base }).rewindFiles(uuid));`;

test('programs fork sessions, resume them at a message, and rewind files, as the SDK has it (Q7 T6 T10)', async () => {
  const model = await modelFor([
    reply('First.'),
    reply('Second.'),
    reply('Forked.'),
    reply('Named.'),
    reply('On.'),
    reply('Third.'),
    reply('Fourth.'),
    reply([toolUse('bash', { command: 'echo made > made' })]),
    reply('Made.'),
  ]);
  const { cwd, env } = cliPlace(model);
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], { cwd, env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  const lines = out.split('\n').filter(Boolean);
  const told = Object.fromEntries(
    lines.map((line) => {
      const { name, value } = JSON.parse(line) as { readonly name: string; readonly value: unknown };
      return [name, value];
    }),
  );
  expect({ status, err, told }).toMatchObject({
    status: 0,
    told: {
      forked: [false, ['One.', 'First.', 'Fork.', 'Forked.']],
      named: ['s-named', 'Named.'],
      function: [['One.', 'First.'], 'Mine'],
      resumed: 'On.',
      foreign: expect.stringMatching(/^Resume rejected by --resume-drops-turn:/),
      instead: ['One.', 'First.', 'Instead.', 'Third.'],
      anew: ['Anew.', 'Fourth.'],
      unnamed: 'One. (fork)',
      dry: [{ canRewind: true, filesChanged: [join(cwd, 'made')], insertions: 0, deletions: 1 }, true],
      back: [{ canRewind: true, filesChanged: [join(cwd, 'made')] }, false],
      never: { canRewind: false, error: 'No message found with message.uuid of: never-was' },
      off: { canRewind: false, error: 'File rewinding is not enabled.' },
    },
  });
  expect(model.problems).toEqual([]);
});
