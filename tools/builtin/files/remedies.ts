// Says how the model gets at a file that read cannot show: by a command that makes something of it
// that read can. The programs are common ones, and need not be installed.
import type { MediaType } from '../../../workflows/contract/people.ts';

/** For an image or document that is sound, and that the API does not take as it is. */
export function describeSmaller(type: MediaType, path: string): string {
  const file = quoteForShell(path);
  return type === 'application/pdf'
    ? `With bash, pdftotext ${file} - prints its text, and qpdf ${file} --pages . 1-20 -- part.pdf takes some pages (--decrypt and --password=… open one that is encrypted).`
    : `With bash, magick ${file} -resize 1568x1568 smaller.png makes it smaller (or convert, sips, Pillow).`;
}

type Kind = { readonly what: string; readonly how: (file: string) => string; readonly is: (start: Buffer) => boolean };

const begins = (start: Buffer, text: string, at = 0): boolean =>
  start.toString('latin1', at, at + text.length) === text;

const isHeif = (start: Buffer): boolean =>
  begins(start, 'ftyp', 4) && /^(heic|heix|hevc|mif1|msf1|avif|avis)/.test(start.toString('latin1', 8, 12));

const toPng = (file: string): string => `magick ${file} picture.png makes a png of it, which read shows`;

const KINDS: readonly Kind[] = [
  {
    what: 'an image (TIFF)',
    how: toPng,
    is: (start) => begins(start, 'II*\0') || begins(start, 'MM\0*'),
  },
  { what: 'an image (HEIC or AVIF)', how: toPng, is: isHeif },
  { what: 'an image (BMP)', how: toPng, is: (start) => begins(start, 'BM') && start.readUInt32LE(6) === 0 },
  { what: 'an icon', how: toPng, is: (start) => begins(start, '\0\0\x01\0') },
  {
    what: 'a zip archive, as office documents are, too',
    how: (file) => `unzip -l ${file} lists it, and pandoc -t markdown ${file} reads a docx, odt or epub`,
    is: (start) => begins(start, 'PK\x03\x04'),
  },
  { what: 'packed by gzip', how: (file) => `zcat ${file} unpacks it`, is: (start) => begins(start, '\x1f\x8b') },
  {
    what: 'a database of SQLite',
    how: (file) => `sqlite3 -readonly ${file} .schema shows its tables`,
    is: (start) => begins(start, 'SQLite forma'),
  },
  {
    what: 'sound or video',
    how: (file) => `ffprobe ${file} describes it, and ffmpeg takes pictures from it`,
    is: (start) =>
      begins(start, 'OggS') ||
      begins(start, 'ID3') ||
      begins(start, 'fLaC') ||
      begins(start, '\x1aE\xdf\xa3') ||
      begins(start, 'ftyp', 4) ||
      (begins(start, 'RIFF') && !begins(start, 'WEBP', 8)),
  },
];

/** Describes a file that is no text, by its first bytes. */
export function describeBinary(start: Buffer, path: string): string {
  const file = quoteForShell(path);
  const kind = KINDS.find(({ is }) => start.length >= 12 && is(start));
  return kind === undefined
    ? `With bash, file ${file} says what it is, and xxd or strings shows its bytes.`
    : `It is ${kind.what}. With bash, ${kind.how(file)}.`;
}

const quoteForShell = (path: string): string =>
  /^[\w./+-]+$/.test(path) && !path.startsWith('-') ? path : `'${path.replaceAll("'", `'\\''`)}'`;
