// What helps with a file that read cannot show (L85).
import { expect, test } from 'vitest';
import { describeBinary, describeSmaller } from '../../../../tools/builtin/read.ts';

const bytes = (text: string): Buffer => Buffer.from(text.padEnd(12, '\0'), 'latin1');

test.each([
  ['II*\0', 'an image (TIFF). With bash, magick a.bin picture.png makes a png of it, which read shows.'],
  ['\0\0\0\x18ftypheic', 'an image (HEIC or AVIF). With bash, magick a.bin'],
  ['BMxxxx', 'an image (BMP). With bash, magick a.bin'],
  ['PK\x03\x04', 'a zip archive, as office documents are, too. With bash, unzip -l a.bin lists it, and pandoc'],
  ['\x1f\x8b', 'packed by gzip. With bash, zcat a.bin unpacks it.'],
  ['SQLite forma', 'a database of SQLite. With bash, sqlite3 -readonly a.bin .schema'],
  ['\0\0\0\x18ftypisom', 'sound or video. With bash, ffprobe a.bin describes it'],
])('a file that begins with %j is named, with a program for it', (start, words) => {
  expect(describeBinary(bytes(start), 'a.bin')).toContain(`It is ${words}`);
});

test('of other bytes a program is named that says what they are; names are quoted for the shell', () => {
  expect(describeBinary(Buffer.from([0, 1]), "it's a file")).toBe(
    "With bash, file 'it'\\''s a file' says what it is, and xxd or strings shows its bytes.",
  );
});

test('of an image and a document that are too large a smaller one can be made', () => {
  expect(describeSmaller('image/png', 'my shot.png')).toContain("magick 'my shot.png' -resize 1568x1568 smaller.png");
  expect(describeSmaller('application/pdf', 'a.pdf')).toContain('pdftotext a.pdf - prints its text, and qpdf a.pdf');
});
