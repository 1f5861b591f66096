// Files of strangers that are read on the thread which everything else waits for: whatever is in
// them, that takes a moment.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { findSkills } from '../../tools/builtin/files/skills.ts';
import { renderNotebook } from '../../tools/builtin/files/notebook.ts';
import { examineMedia, maxBytesOf } from '../../store/transcript/media.ts';
import { tempFolder } from '../tools/support.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { type ForeignFile, foreignFile } from '../support/foreign-files.ts';
import { random } from '../support/random.ts';

/**
 * Milliseconds of a processor: the budget is 200 of a quiet machine. What it was before took from
 * one second to six minutes.
 */
const MOST = 600;

function filled(piece: string | Buffer, size: number, start = '', end = ''): Buffer {
  const bytes = Buffer.alloc(size, piece, 'latin1');
  bytes.write(start, 0, 'latin1');
  bytes.write(end, size - end.length, 'latin1');
  return bytes;
}

const pdf = (piece: string | Buffer): Buffer => filled(piece, maxBytesOf('application/pdf'), '%PDF-1.7\n', '\n%%EOF');
const objects = (inner: Buffer): Buffer =>
  Buffer.concat([Buffer.from('/ObjStm stream\n'), deflateSync(inner), Buffer.from('endstream ')]);
const notebook = (piece: string, start = '', end = ''): Buffer =>
  Buffer.from(
    `{"nbformat":4,"cells":[${start}${piece.repeat(Math.floor((20 * 1024 * 1024 - 200) / piece.length))}${end}]}`,
  );
const cell = '{"cell_type":"code","source":"","outputs":[';

async function skillOf(yaml: string | Buffer): Promise<unknown> {
  const cwd = tempFolder();
  mkdirSync(join(cwd, '.perdure/skills/a'), { recursive: true });
  writeFileSync(join(cwd, '.perdure/skills/a/SKILL.md'), yaml);
  return findSkills({ folders: [], workspace: true }, { cwd, mayRead: () => true });
}

const front = (piece: string): string => `---\n${piece.repeat(8_100 / piece.length)}\n---\n`;

/** The least of some tries: the first compiles. */
async function cost(work: () => unknown): Promise<number> {
  const tries: number[] = [];
  for (let at = 0; at < 3; at += 1) tries.push(await cpuTime(async () => work()));
  return Math.min(...tries);
}

test.each([
  ['pages', pdf('/Type/Page ')],
  ['counts', pdf('/Count 1 ')],
  ['streams', pdf('stream\nendstream ')],
  ['empty object streams', pdf(objects(Buffer.alloc(0)))],
  [
    'an object stream that unpacks to pages',
    Buffer.concat([Buffer.from('%PDF-1\n'), objects(Buffer.alloc(2 ** 24 - 1, '/Type/Page ')), Buffer.from('%%EOF')]),
  ],
  ['segments of a JPEG', filled(Buffer.from([0xff, 0xe0, 0, 2]), maxBytesOf('image/jpeg'), '\xff\xd8')],
])('the largest document or image of %s is examined in a moment (L85)', async (_what, bytes) => {
  expect(await cost(() => examineMedia(bytes))).toBeLessThan(MOST);
});

test.each([
  ['empty lists', notebook('[],', '', '1')],
  ['objects', notebook('{},', '', '1')],
  ['lists in lists', notebook('[')],
  ['cells', notebook('{"cell_type":"","source":""},', '', '1')],
  ['lines', notebook('"",', '{"cell_type":"","source":[', '""]}')],
  ['outputs', notebook('{"output_type":"","text":""},', cell, '1]}')],
  ['colours', notebook('\\u001b[1;', `${cell}{"output_type":"x","text":"`, '"}]}')],
  ['one endless colour', notebook(';1', `${cell}{"output_type":"x","text":"\\u001b[`, '"}]}')],
])('the largest notebook of %s is read in a moment, or as the lines of its JSON (L85)', async (_what, bytes) => {
  expect(await cost(() => renderNotebook(bytes))).toBeLessThan(MOST);
});

test.each([
  '{',
  '[',
  '? ',
  '- ',
  ': ',
  ':\n',
  '? - ',
  '{? ',
  '{a: ',
  '[[],',
  '<<: *a\n',
  '"',
  '&a ',
  '*a ',
  '! ',
  '}',
  '%\n',
  '---\n',
])('front matter of a skill that is %j over and over is read in a moment (L79)', async (piece) => {
  expect(await cost(() => skillOf(front(piece)))).toBeLessThan(MOST);
});

async function read({ kind, bytes }: ForeignFile): Promise<unknown> {
  if (kind === 'skill') return skillOf(bytes);
  return kind === 'notebook' ? renderNotebook(bytes) : examineMedia(bytes);
}

const seed = Number(process.env['FILES_SEED'] ?? Math.floor(Math.random() * 1e9));
const count = Number(process.env['FILES'] ?? 300);

// With a seed: npm run fuzz:files -- --seed 7 --files 10000
test(
  `${count} files of any pieces are read in a moment each, and no error is thrown (seed ${seed})`,
  { timeout: 0 },
  async () => {
    const chance = random(seed);
    for (let at = 0; at < count; at += 1) {
      const file = foreignFile(chance);
      const first = await cpuTime(() => read(file));
      // Again, where others of the process may have worked meanwhile.
      const spent = first < MOST ? first : await cost(() => read(file));
      expect(
        spent,
        `file ${at}, ${file.kind} of ${file.bytes.length} bytes: ${file.bytes.toString('latin1', 0, 200)}`,
      ).toBeLessThan(MOST);
    }
  },
);
