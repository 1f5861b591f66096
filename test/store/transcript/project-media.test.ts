// The model sees images and documents of a transcript (L85).
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { mediaKey } from '../../../store/log/bodies.ts';
import { hashOf } from '../../../store/values/store.ts';
import { BARE } from '../../../store/view/notices.ts';
import { countRequestCharacters } from '../../../store/transcript/request-size.ts';
import { project } from '../../../store/view/project.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import { pdfOf } from '../../support/images.ts';
import { boundary, callBlock, outcome, outcomes, reply, runEnded, user } from '../../support/transcript.ts';

const said = (text: string) => ({ type: 'text', text });

describe('what a tool shows', () => {
  const image = Buffer.from('image');
  const medium = { hash: hashOf(image), bytes: 5, mediaType: 'image/png', characters: 6_400 } as const;
  const page = { hash: hashOf(pdfOf(2)), bytes: 9, mediaType: 'application/pdf', characters: 20_000 } as const;
  const bodies = new Map(
    [medium, page].map(({ hash }, at) => [mediaKey(hash), [image, pdfOf(2)][at]?.toString('base64') ?? '']),
  );
  const round = [
    user('look'),
    reply([callBlock('a'), callBlock('b')]),
    outcomes(outcome(0, '[image/png]', { media: [medium] }), outcome(1, '[pdf]', { media: [page] })),
  ];
  const resultsIn = (...entries: Entry[]): unknown[] =>
    project(entries, bodies)
      .flatMap(({ content }) => content as { type: string; content?: unknown }[])
      .flatMap((block) => (block.type === 'tool_result' ? [block.content] : []));

  test('comes after the text of its result, and counts by size on a screen and by pages (L10 L85)', () => {
    const source = { type: 'base64', media_type: 'image/png', data: image.toString('base64') };
    expect(resultsIn(...round)).toEqual([
      [said('[image/png]'), { type: 'image', source }],
      [
        said('[pdf]'),
        { type: 'document', source: { ...source, media_type: 'application/pdf', data: pdfOf(2).toString('base64') } },
      ],
    ]);
    const size = countRequestCharacters(project(round, bodies));
    expect(size).toBeGreaterThan(26_400);
    expect(size).toBeLessThan(27_500);
  });

  test('is named after its result was shrunk, with where it is (L8 L85)', () => {
    const [first] = resultsIn(...round, { kind: 'microcompact', before: 2, freed: 1 });
    expect(first).toContain(`image/png at "perdure:result/${medium.hash}"`);
  });

  test('is named, and no longer shown, once a request with it was refused, or would be (L12 L24 L25 L85)', () => {
    for (const reason of ['image_error', 'prompt_too_long', 'blocking_limit'] as const) {
      const ended = runEnded(1, { reason, detail: 'x' });
      expect(resultsIn(...round, ended)).toEqual([`[image/png]\n${BARE}`, `[pdf]\n${BARE}`]);
    }
    const refused = { ...boundary('so far', 1, [0]), bareBefore: 3 } as Entry;
    expect(resultsIn(...round, refused)).toEqual([`[image/png]\n${BARE}`, `[pdf]\n${BARE}`]);
    expect(resultsIn(...round, boundary('so far', 1, [0]))[0]).toHaveLength(2);
  });

  test('a document of a prompt stands where it was put, and counts by its pages (L85)', () => {
    const body = { kind: 'text', text: 'Read it. What is it?', media: [{ ...page, at: 8 }] } as const;
    const messages = project([{ kind: 'user', id: 'm' as MessageId, body }], bodies);
    const data = pdfOf(2).toString('base64');
    const shown = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } };
    expect(messages).toEqual([{ role: 'user', content: [said('Read it.'), shown, said(' What is it?')] }]);
    expect(countRequestCharacters(messages)).toBeGreaterThan(20_000);
  });

  test('in a prompt is named in the same way (L24 L85)', () => {
    const body = {
      kind: 'text',
      text: 'Look.',
      media: [{ ...medium, at: 0 }],
    } as const;
    const prompt = { kind: 'user', id: 'm' as MessageId, body } as const;
    const messages = project([prompt, runEnded(1, { reason: 'image_error', detail: 'x' })], new Map());
    expect(messages).toEqual([{ role: 'user', content: [said(`Look.\n[image/png, 5 bytes]\n${BARE}`)] }]);
  });
});
