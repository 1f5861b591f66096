// Files as a stranger would write them, to stand a worker still: pieces that parsers look for, in
// any order and number, whole and broken.
import { deflateSync } from 'node:zlib';
import type { Random } from './random.ts';

type Kind = 'pdf' | 'image' | 'notebook' | 'skill';
export type ForeignFile = { readonly kind: Kind; readonly bytes: Buffer };

const MB = 1024 * 1024;
const objects = (inner: Buffer): string =>
  `<< /Type /ObjStm >> stream\n${deflateSync(inner).toString('latin1')}\nendstream `;

const PDF = [
  '/Type/Page ',
  '/Type /Pages /Count 7 ',
  '/Count 1 ',
  '/Type ',
  '   ',
  'stream\nendstream ',
  'stream\r\n',
  'endstream ',
  '/ObjStm ',
  objects(Buffer.alloc(0)),
  objects(Buffer.from('/Type/Page ')),
  objects(Buffer.alloc(4 * MB)),
  objects(Buffer.alloc(MB, '/Type/Page ')),
  '/ObjStm stream\nbroken endstream ',
  '%%EOF ',
] as const;
const CELLS = [
  '[],',
  '{},',
  '1,',
  '"",',
  '[',
  '{"a":',
  '"\\u001b[1;',
  '{"cell_type":"code","source":"x"},',
  '{"cell_type":"code","source":["a","b"],"outputs":[{"output_type":"stream","text":"\\u001b[31mred"}]},',
  '{"cell_type":"code","source":"","outputs":[{"output_type":"x","data":{"text/html":"","text/plain":"\\u001b]8;;"}}]},',
  ';1',
  '\\"',
] as const;
const YAML = [
  'name: a\n',
  'description: b\n',
  '{',
  '[',
  '? ',
  '- ',
  ': ',
  '? - ',
  '{? ',
  '&a ',
  '*a ',
  '<<: *a\n',
  '"',
  "'",
  '|\n ',
  '! ',
  '\n',
  '\t',
  '}',
  ']',
  '%',
  '# ',
] as const;
const IMAGE = [
  '\x89PNG\r\n\x1a\n',
  'GIF89a',
  '\xff\xd8\xff',
  'RIFFxxxxWEBPVP8X',
  '\xff\xe0\x00\x02',
  '\xff\xc0',
  '\x00',
] as const;

/** A piece, as often as it fits; or many, once each. */
function body(chance: Random, pieces: readonly [string, ...string[]], most: number): string {
  const size = chance.weighted([
    [20, () => chance.nat(Math.min(most, 2_000))],
    [5, () => chance.nat(Math.min(most, 200_000))],
    [1, () => most],
  ]);
  const unit = Array.from({ length: 1 + chance.nat(3) }, () => chance.pick(pieces)).join('');
  if (chance.bool()) return unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
  const parts: string[] = [];
  for (let length = 0; length < Math.min(size, 20_000);)
    length += parts[parts.push(chance.pick(pieces)) - 1]?.length ?? 1;
  return parts.join('').slice(0, size);
}

export function foreignFile(chance: Random): ForeignFile {
  const kind = chance.pick<Kind>(['pdf', 'image', 'notebook', 'skill']);
  switch (kind) {
    case 'pdf':
      return { kind, bytes: Buffer.from(`%PDF-1.7\n${body(chance, PDF, 15 * MB - 100)}\n%%EOF`, 'latin1') };
    case 'image': {
      const start = chance.pick(['\x89PNG\r\n\x1a\n', 'GIF87a', '\xff\xd8', 'RIFF    WEBPVP8 ']);
      return { kind, bytes: Buffer.from(start + body(chance, IMAGE, 3 * MB), 'latin1') };
    }
    case 'notebook': {
      const close = chance.pick([']}', '', '"]}', '{}]}']);
      return { kind, bytes: Buffer.from(`{"nbformat":4,"cells":[${body(chance, CELLS, 20 * MB - 100)}${close}`) };
    }
    case 'skill':
      return { kind, bytes: Buffer.from(`---\n${body(chance, YAML, 8_100)}\n---\ntext`) };
  }
}
