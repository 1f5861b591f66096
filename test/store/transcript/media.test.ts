// Images and PDF documents, by their bytes (L85).
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { examineMedia, fitsMessage, MOST_PAGES, countPdfPages } from '../../../store/transcript/media.ts';
import { jpegOf, pdfOf, pngOf, webpOf } from '../../support/images.ts';

const gif = Buffer.from('GIF89a\x05\x00\x06\x00', 'latin1');

test.each([
  ['png', pngOf(7, 9), '[image/png, 7 × 9 pixels,'],
  ['jpeg', jpegOf(300, 20), '[image/jpeg, 300 × 20 pixels,'],
  ['webp', webpOf(40, 50), '[image/webp, 40 × 50 pixels,'],
  ['gif', gif, '[image/gif, 5 × 6 pixels,'],
  ['pdf', pdfOf(3), '[application/pdf, 3 pages,'],
])('a %s is what its first bytes say, with a line that names it (L85)', (_, bytes, note) => {
  const found = examineMedia(bytes);
  expect(found).toMatchObject({ kind: 'medium', note: expect.stringContaining(note) as string });
});

test.each([
  ['text', Buffer.from('GIF8 is no version of it')],
  ['nothing', Buffer.alloc(0)],
  ['a program', Buffer.from('\x7fELF')],
])('%s is no image and no document (L85)', (_, bytes) => {
  expect(examineMedia(bytes)).toBeNull();
});

test.each([
  ['of too many pixels', pngOf(8_001, 1), 'is an image of 8001 × 1 pixels, and the model takes 8000'],
  ['that ends in its head', pngOf(7, 9).subarray(0, 12), 'begins as image/png and is broken'],
  ['without an area', pngOf(0, 9), 'begins as image/png and is broken'],
  ['of too many bytes', Buffer.concat([pngOf(1, 1), Buffer.alloc(4_000_000)]), 'the model takes 3,932,160'],
  ['that is half a PDF', Buffer.from('%PDF-1.7\n1 0 obj'), 'begins as application/pdf and is broken'],
  ['that is locked', Buffer.concat([pdfOf(1), Buffer.from('trailer << /Encrypt 5 0 R >>')]), 'is encrypted'],
  ['of too many pages', pdfOf(MOST_PAGES + 1), 'of 101 pages, and the model takes 100'],
])('one %s is refused, with what is wrong (L85)', (_, bytes, problem) => {
  const found = examineMedia(bytes);
  expect(found).toMatchObject({ kind: 'refused', problem: expect.stringContaining(problem) as string });
});

test('pages are counted in packed objects, too, and old ones of a changed file are not (L85)', () => {
  const packed = (text: string): Buffer =>
    Buffer.concat([
      Buffer.from('<< /Type /ObjStm >>\nstream\n'),
      deflateSync(Buffer.from(text)),
      Buffer.from('\nendstream'),
    ]);
  const two = packed('<< /Type /Pages /Count 2 >> << /Type /Page >> << /Type/Page >>');
  expect(countPdfPages(Buffer.concat([Buffer.from('%PDF-1.7\n'), two]))).toBe(2);
  expect(countPdfPages(Buffer.concat([pdfOf(2), Buffer.from('<< /Type /Page >>')]))).toBe(2);
  expect(
    countPdfPages(Buffer.concat([pdfOf(2), Buffer.from('<< /Type /ObjStm >>\nstream\nbroken endstream')])),
  ).toBeNull();
});

test('what is made to be dear to count is looked at once, and not counted (L85)', () => {
  const bomb = deflateSync(Buffer.alloc(70 * 1024 * 1024));
  const dear = (markers: number): Buffer =>
    Buffer.concat([Buffer.from(`%PDF-1.7\n${'/ObjStm'.repeat(markers)}\nstream\n`), bomb, Buffer.from('\nendstream')]);
  const takes = (bytes: Buffer): number => {
    const before = process.cpuUsage();
    expect(countPdfPages(bytes)).toBeNull();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const once = takes(dear(1));
  expect(takes(dear(280))).toBeLessThan(20 * once);
  // Nothing follows them.
  expect(takes(Buffer.from(`%PDF-1.7\n${'/ObjStm'.repeat(300_000)}`))).toBeLessThan(20 * once);
});

test('a document counts by its pages, an image by its size on a screen (L10 L85)', () => {
  const [one, ten] = [pdfOf(1), pdfOf(10)].map((bytes) => examineMedia(bytes));
  expect(one).toMatchObject({ characters: 10_000 });
  expect(ten).toMatchObject({ characters: 100_000 });
  expect(examineMedia(pngOf(7, 9))).toMatchObject({ characters: 6_400 });
});

test('one message has 20 of them, and 20 MB in base64 (L85)', () => {
  const of = (count: number, bytes: number) => fitsMessage(Array.from({ length: count }, () => ({ bytes })));
  expect([of(20, 9), of(21, 9), of(1, 15_728_640), of(2, 8_000_000)]).toEqual([true, false, true, false]);
});
