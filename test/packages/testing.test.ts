// `perdure/testing` from the packed tarball: a user's agent with its tool is tested in a project
// that has nothing else.
import { expect, inject, test } from 'vitest';
import { readHistory } from '../support/kept-history.ts';
import { projectAt, runProgram } from './empty-project.ts';

const KEPT = 'next-turn-after-a-safe-call-and-after-an-effectful-one-l46.json';

test('an agent with a tool is tested in memory and for real, and a kept history is replayed, in an empty project (Q6)', async () => {
  const { folder: cwd, write } = projectAt(inject('npmProject'));
  const kept = write('kept.json', JSON.stringify(readHistory(KEPT)));
  const program = write(
    'agent.test.mjs',
    `import assert from 'node:assert/strict';
     import { readFileSync } from 'node:fs';
     import { test } from 'node:test';
     import { defineTool } from 'perdure/tool';
     import { replay, reply, runInMemory, startScriptedModel, testEnvironment, toolUse } from 'perdure/testing';
     import { z } from 'zod';
     const stock = defineTool({
       name: 'stock', description: 'Counts.', risk: 'read', recovery: 'rerun',
       inputSchema: z.object({ article: z.string() }),
       call: async ({ article }) => ({ content: 'there are 12 of ' + article }),
     });
     const script = [reply([toolUse('stock', { article: 'lamp' })]), reply('Twelve.')];
     const config = { tools: [stock] };
     test('in memory', async () => {
       const { reason, text, turns, requests } = await runInMemory({ prompt: 'How many?', script, config });
       assert.deepEqual([reason, text, turns], ['completed', 'Twelve.', 2]);
       assert.match(JSON.stringify(requests[1].body), /there are 12 of lamp/);
     });
     test('for real', async () => {
       const environment = await testEnvironment({ script, config });
       try {
         const { text, sessionId } = await environment.run('How many?');
         assert.equal(text, 'Twelve.');
         await environment.replay(sessionId);
       } finally {
         await environment.close();
       }
     });
     test('a scripted model answers over HTTP', async () => {
       const model = await startScriptedModel({ script: [reply('Hello.')] });
       const body = JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi.' }] });
       const headers = { 'content-type': 'application/json', 'x-api-key': 'test', 'anthropic-version': '2023-06-01' };
       const answer = await fetch(model.url + '/v1/messages', { method: 'POST', headers, body });
       assert.equal((await answer.json()).content[0].text, 'Hello.');
       await model.close();
     });
     test('a kept history', async () => {
       const history = JSON.parse(readFileSync(process.env.KEPT, 'utf8'));
       await replay(history);
       const other = { ...history, events: history.events.filter(({ eventId }) => Number(eventId) !== 7) };
       await assert.rejects(replay(other));
     });`,
  );
  const { status, out, err } = await runProgram(process.execPath, ['--test', program], { cwd, env: { KEPT: kept } });
  expect({ status, said: `${out}${err}` }).toMatchObject({
    status: 0,
    said: expect.stringContaining('pass 4\n') as string,
  });
});
