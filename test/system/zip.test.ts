// Zip archives: those of real programs are read, and what an archive may do to its reader.
import { deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readZip, writeZip, ZipError, type ZipFile } from '../../system/zip.ts';

/** Made by `zip -rX` (Info-ZIP 3.0) of a folder with a text and a script, and one more with `-y` and a link. */
const PLAIN =
  'UEsDBAoAAAAAAAAAIVwAAAAAAAAAAAAAAAAHAAAAdGFibGVzL1BLAwQUAAAACAAAACFcC0jemUcAAABPAAAADwAAAHRhYmxlcy9TS0lMTC5tZN' +
  'PV1eXKS8xNtVIoSUzKSS3mSkktTi7KLCjJzM+zUvBNzE4thsoo5Kcp5JXmJqUWFetx6QK1BZXmKUDUFusXl+bqFWfocQEAUEsDBAoAAAAAAAAA' +
  'IVwAAAAAAAAAAAAAAAAPAAAAdGFibGVzL3NjcmlwdHMvUEsDBAoAAAAAAAAAIVwalnchEwAAABMAAAAVAAAAdGFibGVzL3NjcmlwdHMvc3VtLn' +
  'NoIyEvYmluL3NoCmVjaG8gc3VtClBLAQIeAwoAAAAAAAAAIVwAAAAAAAAAAAAAAAAHAAAAAAAAAAAAEADtQQAAAAB0YWJsZXMvUEsBAh4DFAAA' +
  'AAgAAAAhXAtI3plHAAAATwAAAA8AAAAAAAAAAQAAAKSBJQAAAHRhYmxlcy9TS0lMTC5tZFBLAQIeAwoAAAAAAAAAIVwAAAAAAAAAAAAAAAAPAA' +
  'AAAAAAAAAAEADtQZkAAAB0YWJsZXMvc2NyaXB0cy9QSwECHgMKAAAAAAAAACFcGpZ3IRMAAAATAAAAFQAAAAAAAAABAAAA7YHGAAAAdGFibGVz' +
  'L3NjcmlwdHMvc3VtLnNoUEsFBgAAAAAEAAQA8gAAAAwBAAAAAA==';
const LINK =
  'UEsDBAoAAAAAACC/fl0AAAAAAAAAAAAAAAAHAAAAdGFibGVzL1BLAwQUAAAACAAAACFcC0jemUcAAABPAAAADwAAAHRhYmxlcy9TS0lMTC5tZN' +
  'PV1eXKS8xNtVIoSUzKSS3mSkktTi7KLCjJzM+zUvBNzE4thsoo5Kcp5JXmJqUWFetx6QK1BZXmKUDUFusXl+bqFWfocQEAUEsDBAoAAAAAAAAA' +
  'IVwAAAAAAAAAAAAAAAAPAAAAdGFibGVzL3NjcmlwdHMvUEsDBAoAAAAAAAAAIVwalnchEwAAABMAAAAVAAAAdGFibGVzL3NjcmlwdHMvc3VtLn' +
  'NoIyEvYmluL3NoCmVjaG8gc3VtClBLAwQKAAAAAAAgv35dCrkfKQsAAAALAAAACwAAAHRhYmxlcy9saW5rL2V0Yy9wYXNzd2RQSwECHgMKAAAA' +
  'AAAgv35dAAAAAAAAAAAAAAAABwAAAAAAAAAAABAA7UEAAAAAdGFibGVzL1BLAQIeAxQAAAAIAAAAIVwLSN6ZRwAAAE8AAAAPAAAAAAAAAAEAAA' +
  'CkgSUAAAB0YWJsZXMvU0tJTEwubWRQSwECHgMKAAAAAAAAACFcAAAAAAAAAAAAAAAADwAAAAAAAAAAABAA7UGZAAAAdGFibGVzL3NjcmlwdHMv' +
  'UEsBAh4DCgAAAAAAAAAhXBqWdyETAAAAEwAAABUAAAAAAAAAAQAAAO2BxgAAAHRhYmxlcy9zY3JpcHRzL3N1bS5zaFBLAQIeAwoAAAAAACC/fl' +
  '0KuR8pCwAAAAsAAAALAAAAAAAAAAAAAAD/oQwBAAB0YWJsZXMvbGlua1BLBQYAAAAABQAFACsBAABAAQAAAAA=';

const BOUNDS = { files: 10, bytes: 1_000_000 };
const file = (path: string, text: string, isExecutable = false): ZipFile => ({
  path,
  bytes: Buffer.from(text),
  isExecutable,
});

async function problemOf(archive: Uint8Array, bounds = BOUNDS): Promise<string> {
  try {
    await readZip(archive, bounds);
  } catch (error) {
    if (error instanceof ZipError) return error.message;
    throw error;
  }
  return 'none';
}

test('an archive of another program is read with its paths, texts and executable files', async () => {
  const files = await readZip(Buffer.from(PLAIN, 'base64'), BOUNDS);
  const shown = files.map(({ path, bytes, isExecutable }) => [path, Buffer.from(bytes).toString(), isExecutable]);
  expect(shown).toEqual([
    ['tables/SKILL.md', expect.stringContaining('name: tables'), false],
    ['tables/scripts/sum.sh', '#!/bin/sh\necho sum\n', true],
  ]);
});

test('what is written is read again, and equal files make equal bytes', async () => {
  const files = [file('a/é.md', 'text'), file('a/run', '#!', true), file('a/empty', '')];
  const archive = writeZip(files);
  expect(writeZip(files)).toEqual(archive);
  expect(await readZip(archive, BOUNDS)).toEqual(files);
});

/** One deflated file whose directory says another size. */
function packed(size: number, text = 'x'.repeat(1_000)): Buffer {
  const data = deflateRawSync(text);
  const archive = writeZip([{ ...file('a', ''), bytes: data }]);
  const directory = archive.readUInt32LE(archive.length - 6);
  for (const at of [8, directory + 10]) archive.writeUInt16LE(8, at);
  archive.writeUInt32LE(size, directory + 24);
  return archive;
}

test.each([
  ['a link', Buffer.from(LINK, 'base64'), 'has "tables/link", which is no plain file'],
  ['no archive', Buffer.from('PK'.repeat(50)), 'is no zip archive'],
  ['nothing', Buffer.alloc(0), 'is no zip archive'],
  ['too many files', writeZip(Array.from({ length: 11 }, (_, n) => file(`${n}`, ''))), 'has 11 files: at most 10'],
  ['a bomb that says its size', packed(2_000_000), 'has files of 2000000 bytes together: at most 1000000'],
  ['a bomb that hides its size', packed(10), 'is damaged'],
  ['a cut end', writeZip([file('a', 'text')]).subarray(20), 'is damaged'],
])('an archive with %s is refused', async (_, archive, problem) => {
  expect(await problemOf(archive)).toBe(problem);
});

test('an archive that names one file very often is bounded by what the files have together', async () => {
  const archive = writeZip(Array.from({ length: 5 }, (_, n) => file(`${n}`, 'x'.repeat(300_000))));
  const directory = archive.readUInt32LE(archive.length - 6);
  // Each entry has 46 bytes and a name of one.
  for (let n = 0; n < 5; n += 1) archive.writeUInt32LE(0, directory + n * 47 + 42);
  expect(await problemOf(archive)).toBe('has files of 1500000 bytes together: at most 1000000');
});

test('whatever one byte becomes, an archive is read or refused as one', async () => {
  const archive = writeZip([file('a/SKILL.md', 'text'), file('a/b', 'more', true)]);
  for (let at = 0; at < archive.length; at += 1)
    for (const byte of [0, 0x7f, 0xff]) {
      const changed = Buffer.from(archive);
      changed[at] = byte;
      expect(typeof (await problemOf(changed))).toBe('string');
    }
});
