import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ModelRequest } from '../../../activities/model-deps.ts';
import { encodeRequest } from '../../../activities/model/stream/stream.ts';

const text = fc.string({ unit: 'binary' });
const message = fc.record({
  role: fc.constantFrom('user', 'assistant'),
  content: fc.array(fc.record({ type: fc.constant('text'), text })),
});

test('a request that repeats messages of earlier ones is written as JSON would write it', () => {
  fc.assert(
    fc.property(fc.array(message), text, (messages, system) => {
      for (let length = 0; length <= messages.length; length += 1) {
        const fields = { model: 'm', max_tokens: 1, stream: true, system, thinking: undefined };
        const body = { ...fields, messages: messages.slice(0, length) } as unknown as ModelRequest;
        const written: unknown = JSON.parse(Buffer.concat([...encodeRequest(body).pieces()]).toString());
        expect(written).toEqual(JSON.parse(Buffer.from(JSON.stringify(body)).toString()));
      }
    }),
  );
});
