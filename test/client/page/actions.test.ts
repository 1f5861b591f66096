// What a person does on the page, and what is said of it.
import { expect, test } from 'vitest';
import { hashOf } from '../../../activities/transcript/store/store.ts';
import { stagedPage } from '../../support/page-ports.ts';
import { callBlock, reply, user } from '../../support/transcript.ts';

test.each(['interrupt', 'resume', 'cancel'])('%s reaches the session, and it is said so (O8)', async (action) => {
  const { post, done } = await stagedPage();
  const answer = await post(`/sessions/s-1/${action}`, {});
  expect([answer.status, done]).toEqual([200, [action]]);
  expect(await answer.text()).toMatch(/^<p class="good">Asked to/);
});

test('a message that was sent is shown as waiting until it is taken (O8)', async () => {
  const { post, text } = await stagedPage({ entries: [user('x')] });
  expect((await post('/sessions/s-1/send', { text: 'one more thing' })).status).toBe(200);
  expect(await text('/sessions/s-1')).toContain(
    'one more thing</pre><p class="quiet">Sent, and not in the transcript yet',
  );
});

test('an edited input that is not JSON is refused before anything is sent (O8)', async () => {
  const { post, done } = await stagedPage();
  const answer = await post('/sessions/s-1/approve', { call: '1.1.0', inputHash: 'h', input: '{"a": ' });
  expect([answer.status, done]).toEqual([400, []]);
  expect(await answer.text()).toContain('the input is not JSON');
});

test('a call that waits is shown with its question, its input and its deadline (O8)', async () => {
  const pending = {
    call: '1.1.0',
    tool: 'bash',
    reason: 'it writes',
    inputHash: 'h',
    head: hashOf(Buffer.from('x')),
    index: 0,
    deadline: Date.UTC(2030, 0, 1),
  };
  const { text } = await stagedPage({
    entries: [reply([callBlock('a', {}, 'bash')])],
    seen: { phase: 'waiting_approval', approvals: [pending] },
  });
  const page = await text('/sessions/s-1');
  for (const part of [
    'waits for a decision',
    'it writes',
    '&quot;path&quot;: &quot;a.txt&quot;',
    'data-at="1893456000000"',
    'class="call waiting"',
  ])
    expect(page).toContain(part);
});
