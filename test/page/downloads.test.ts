// What is too long for the page, and what is no text: asked for by itself.
import { expect, test } from 'vitest';
import type { Entry } from '../../store/log/entries.ts';
import { hashOf } from '../../store/values/store.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import type { MediaType, MessageBody } from '../../workflows/contract/people.ts';
import { pdfOf, pngOf } from '../support/images.ts';
import { stagedPage } from '../support/page-ports.ts';
import { callBlock, outcome, outcomes, reply, textBlock } from '../support/transcript.ts';

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

test('images of a prompt are shown, and only as the images they are; its documents are taken away (O5 O12 L85)', async () => {
  const bytes = pngOf(2, 2);
  const pages = pdfOf(2);
  const document = {
    hash: hashOf(pages),
    bytes: pages.length,
    mediaType: 'application/pdf',
    characters: 1,
    at: 0,
  } as const;
  const body = (mediaType: MediaType): MessageBody => ({
    kind: 'text',
    text: 'look',
    media: [{ hash: hashOf(bytes), bytes: bytes.length, mediaType, characters: 6_400, at: 4 }],
  });
  const entries: Entry[] = [
    { kind: 'user', id: 'm-1' as MessageId, body: body('image/png') },
    { kind: 'user', id: 'm-2' as MessageId, body: body('image/svg+xml' as never) },
    { kind: 'user', id: 'm-3' as MessageId, body: { kind: 'text', text: 'read', media: [document] } },
  ];
  const { text, ask, ports } = await stagedPage({ entries });
  await Promise.all([bytes, pages].map((each) => ports.store.put(each)));
  const page = await text('/sessions/s-1');
  expect(page).toContain('src="/sessions/s-1/entries/0/media/0"');
  expect(page).toMatch(/<a href="\/sessions\/s-1\/entries\/2\/media\/0">Document 1, application\/pdf, \d+ bytes<\/a>/);
  const taken = await ask('/sessions/s-1/entries/2/media/0');
  expect(taken.headers.get('content-disposition')).toBe('attachment; filename="2-0.pdf"');
  expect(Buffer.from(await taken.arrayBuffer())).toEqual(pages);
  const answer = await ask('/sessions/s-1/entries/0/media/0');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes);
  for (const none of ['0/0/media/0', '0/media/1', '1/media/0', '0/media/x', '7/media/0', '0/media/-1'])
    expect((await ask(`/sessions/s-1/entries/${none}`)).status).toBe(404);
});

test('an image that a tool returned is shown in the open row of its call (O8 L85)', async () => {
  const bytes = pngOf(2, 2);
  const media = [{ hash: hashOf(bytes), bytes: bytes.length, mediaType: 'image/png', characters: 1 } as const];
  const entries = [reply([callBlock('a', { path: 'a.png' })]), outcomes(outcome(0, 'An image.', { media }))];
  const { text, ask, ports } = await stagedPage({ entries });
  await ports.store.put(bytes);
  expect(await text('/sessions/s-1')).toContain('src="/sessions/s-1/entries/0/0/media/0"');
  const answer = await ask('/sessions/s-1/entries/0/0/media/0');
  expect([answer.headers.get('content-type'), Buffer.from(await answer.arrayBuffer())]).toEqual(['image/png', bytes]);
  expect((await ask('/sessions/s-1/entries/0/1/media/0')).status).toBe(404);
});
