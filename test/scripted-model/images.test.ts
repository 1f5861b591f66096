import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { afterCalls, hello, model, post, type ErrorAnswer } from './support.ts';

type Refused = ErrorAnswer['error'] & { readonly details?: object };

const png = (width: number, height: number) => {
  const head = Buffer.alloc(64);
  head.writeUInt32BE(0x89504e47, 0);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
};

const jpeg = (width: number, height: number) => {
  const frame = Buffer.alloc(64);
  frame.writeUInt32BE(0xffd8ffe0, 0);
  frame.writeUInt16BE(2, 4);
  frame.writeUInt16BE(0xffc0, 6);
  frame.writeUInt16BE(height, 11);
  frame.writeUInt16BE(width, 13);
  return frame;
};

const image = (bytes: Buffer) => ({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: bytes.toString('base64') },
});

async function send(content: readonly object[], name = 'claude-sonnet-5-5'): Promise<Refused | undefined> {
  const server = await model([reply('ok')]);
  const messages = [...afterCalls('a').slice(0, 2), { role: 'user', content }];
  const response = await post(server, { ...hello, model: name, messages });
  return response.status === 200 ? undefined : ((await response.json()) as ErrorAnswer).error;
}

const result = (...content: readonly object[]) => ({ type: 'tool_result', tool_use_id: 'a', content });
const several = (count: number, bytes: Buffer) => Array.from({ length: count }, () => image(bytes));

test('up to 20 images may have 8000 pixels a side, more of them only 2000, those in results included (Vision, 2026-10)', async () => {
  expect(await send([result(), ...several(20, png(8_000, 2_001))])).toBeUndefined();
  expect(await send([result(image(png(10, 10))), ...several(20, png(2_000, 2_000))])).toBeUndefined();
  const many = await send([result(image(jpeg(10, 2_001))), ...several(20, png(10, 10))]);
  const path = 'messages.2.content.0.content.0';
  expect(many).toMatchObject({
    message: `${path}.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels`,
    details: { error_code: 'image_dimensions_too_large', paths: [path], max_side_length_pixels: 2_000 },
  });
  const large = await send([result(), image(png(10, 10)), image(png(8_001, 10))]);
  expect(large?.details).toMatchObject({ paths: ['messages.2.content.2'], max_side_length_pixels: 8_000 });
});

test('an image has at most 10 MB, a request 600 images, or 100 for a small window (Vision, 2026-10)', async () => {
  expect((await send([result(), image(Buffer.alloc(8 * 1_024 * 1_024))]))?.message).toContain(
    'image exceeds 10 MB maximum',
  );
  expect(await send([result(), ...several(600, png(10, 10))])).toBeUndefined();
  expect((await send([result(), ...several(601, png(10, 10))]))?.message).toContain('601 > 600');
  expect((await send([result(), ...several(101, png(10, 10))], 'claude-haiku-4-5'))?.message).toContain('101 > 100');
});
