// What is too long for the page, and what is no text: asked for by itself.
import { expect, test } from 'vitest';
import type { Entry } from '../../../activities/transcript/log/entries.ts';
import { hashOf } from '../../../activities/transcript/store/store.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import type { ImageType, MessageBody } from '../../../workflows/contract/people.ts';
import { pngOf } from '../../support/images.ts';
import { stagedPage } from '../../support/page-ports.ts';
import { callBlock, outcome, outcomes, reply, textBlock } from '../../support/transcript.ts';

test('a line of 1 MB is shown in part, and all of it can be had as text (O5)', async () => {
  const long = 'x'.repeat(1_000_000);
  const entries = [reply([textBlock(long), callBlock('a')]), outcomes(outcome(1, long))];
  const { text, ask } = await stagedPage({ entries });
  expect((await text('/sessions/s-1')).length).toBeLessThan(100_000);
  for (const path of ['/sessions/s-1/entries/0/0', '/sessions/s-1/entries/0/1']) {
    const answer = await ask(path);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await answer.text()).toBe(long);
  }
  for (const path of [
    '/sessions/s-1/entries/9/0',
    '/sessions/s-1/entries/0/x',
    '/sessions/s-1/entries/x/0',
    '/sessions/s-1/entries/0/7',
  ])
    expect((await ask(path)).status).toBe(404);
});

test('images of a prompt are shown, and only as the images they are (O5 O12)', async () => {
  const bytes = pngOf(2, 2);
  const body = (mediaType: ImageType): MessageBody => ({
    kind: 'text',
    text: 'look',
    images: [{ hash: hashOf(bytes), bytes: bytes.length, mediaType, at: 4 }],
  });
  const entries: Entry[] = [
    { kind: 'user', id: 'm-1' as MessageId, body: body('image/png') },
    { kind: 'user', id: 'm-2' as MessageId, body: body('image/svg+xml' as never) },
  ];
  const { text, ask, ports } = await stagedPage({ entries });
  await ports.store.put(bytes);
  expect(await text('/sessions/s-1')).toContain('src="/sessions/s-1/entries/0/images/0"');
  const answer = await ask('/sessions/s-1/entries/0/images/0');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes);
  for (const none of ['0/images/1', '1/images/0', '0/images/x', '7/images/0', '0/images/-1'])
    expect((await ask(`/sessions/s-1/entries/${none}`)).status).toBe(404);
});
