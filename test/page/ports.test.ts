// Reads that the page shares with the client.
import { Client, Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import type { OpenedServer } from '../../client/runtime/open-server.ts';
import { inputHashOf } from '../../client/sessions/waiting-approval.ts';
import { pagePorts } from '../../page/ports.ts';
import { nextSegment } from '../../store/view/append.ts';
import { emptyView } from '../../store/view/view.ts';
import { memoryStore } from '../support/memory-store.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import { callBlock, reply, user } from '../support/transcript.ts';

test('a call of an agent that waits is shown with its input, from the transcript of the agent (L55 L73)', async () => {
  const store = memoryStore();
  const agent = 's-1.agent-a-1' as SessionId;
  const { bytes, view } = nextSegment(emptyView(agent), [
    user('go'),
    reply([callBlock('t', { command: 'ls' }, 'bash')]),
  ]);
  await store.put(bytes);
  const opened = {
    temporal: { client: new Client({ connection: Connection.lazy() }) },
    target: { namespace: 'x' },
    sessions: {},
    embedded: null,
    store,
  };
  const pending = {
    call: '1.1.0',
    tool: 'bash',
    index: 0,
    head: view.head,
    inputHash: inputHashOf({ command: 'ls' }),
    agent: { session: agent },
  } as unknown as PendingApproval;
  const waiting = await pagePorts(opened as unknown as OpenedServer, {}).waiting('s-1' as SessionId, pending);
  expect(waiting.problem).toBeUndefined();
  expect([waiting.session, waiting.input]).toEqual(['s-1', { command: 'ls' }]);
});
