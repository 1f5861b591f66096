import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { confine } from '../../../../tools/builtin/files/confine.ts';
import { isInside } from '../../../../system/process/places.ts';
import { openFile } from '../../../../tools/builtin/files/open-inside.ts';
import { ToolFailure } from '../../../../tools/tool.ts';
import { tempFolder } from '../../support.ts';

/** `outer/ws` is the workspace; `outer/secret` and `outer/ws-sibling/secret` are not in it. */
function place(): { outer: string; root: string } {
  const outer = tempFolder();
  const root = join(outer, 'ws');
  for (const folder of ['ws/sub/deep', 'ws-sibling']) mkdirSync(join(outer, folder), { recursive: true });
  for (const file of ['secret', 'ws-sibling/secret', 'ws/file', 'ws/sub/file']) writeFileSync(join(outer, file), file);
  return { outer, root };
}

async function refusal(root: string, path: string, hidden?: string): Promise<string> {
  const workspace = { root, hidden };
  try {
    const confined = confine(workspace, path);
    const { handle } = await openFile(workspace, confined);
    handle.close();
    return `opened ${confined.name}`;
  } catch (error) {
    if (error instanceof ToolFailure) return error.message;
    throw error;
  }
}

test.each([
  ['the parent', '../secret', 'is outside the workspace'],
  ['the parent, by detours', 'sub/../../secret', 'is outside the workspace'],
  ['a sibling with the same prefix', '../ws-sibling/secret', 'is outside the workspace'],
  ['an absolute path', '/etc/passwd', 'is outside the workspace'],
  ['the file system through /proc', '/proc/self/root/etc/passwd', 'is outside the workspace'],
  ['a link to a file outside', 'link-file', 'is outside the workspace'],
  ['a link to a folder outside', 'link-folder/secret', 'is outside the workspace'],
  ['a file that is not there, below a link outside', 'link-folder/new', 'is outside the workspace'],
  ['a link to nothing', 'link-nowhere', 'is a link to nothing'],
  ['links in a circle', 'loop', 'go round in a circle'],
  ['a folder', 'sub', 'is a folder, not a file'],
  ['the workspace itself', '.', 'is a folder, not a file'],
  ['a path through a file', 'file/x', 'is a file, not a folder'],
  ['what is not there', 'missing', 'does not exist'],
  ['a named pipe', 'fifo', 'is a named pipe, not a file'],
  ['a device', 'link-zero', 'is outside the workspace'],
  ['an empty path', '', 'is empty or holds a NUL'],
  ['a NUL', 'a\0b', 'is empty or holds a NUL'],
  ['4,097 characters', 'a/'.repeat(2_048) + 'b', 'is longer than 4096 characters'],
  ['a name of 300 characters', 'a'.repeat(300), 'is too long'],
  ['a home folder, which is only a name', '~/secret', 'does not exist'],
])('%s is an ordinary failure (L34)', async (_, path, sentence) => {
  const { outer, root } = place();
  symlinkSync(join(outer, 'secret'), join(root, 'link-file'));
  symlinkSync('../ws-sibling', join(root, 'link-folder'));
  symlinkSync('nowhere', join(root, 'link-nowhere'));
  symlinkSync('loop', join(root, 'loop'));
  symlinkSync('/dev/zero', join(root, 'link-zero'));
  execFileSync('mkfifo', [join(root, 'fifo')]);
  const said = await refusal(root, path);
  expect(said).toContain(sentence);
  expect(said.length).toBeLessThan(600);
});

test.each([
  ['file', 'file'],
  ['./sub/../file', 'file'],
  ['link-inside', 'sub/file'],
  ['sub/link-up/file', 'file'],
])('%s is in the workspace', async (path, name) => {
  const { root } = place();
  symlinkSync('sub/file', join(root, 'link-inside'));
  symlinkSync(root, join(root, 'sub/link-up'));
  expect(await refusal(root, path)).toBe(`opened ${name}`);
  expect(await refusal(root, join(root, path))).toBe(`opened ${name}`);
  expect(await refusal(root, `/proc/self/root${join(root, path)}`)).toBe(`opened ${name}`);
});

test('what belongs to Perdure is out of reach, also by a link, unless the workspace lies in it', async () => {
  const { outer, root } = place();
  symlinkSync('sub', join(root, 'link'));
  expect(await refusal(root, 'sub/file', join(root, 'sub'))).toContain("is part of Perdure's own data");
  expect(await refusal(root, 'link/file', join(root, 'link'))).toContain("is part of Perdure's own data");
  expect(await refusal(root, 'file', join(root, 'sub'))).toBe('opened file');
  expect(await refusal(root, 'file', outer)).toBe('opened file');
  expect(await refusal(root, 'file', join(root, 'not-there'))).toBe('opened file');
});

test('a path through any tree of folders and links leads inside or is refused', async () => {
  const { outer, root } = place();
  const targets = [
    '..',
    '.',
    'sub',
    '../ws-sibling',
    '../secret',
    '/',
    '/etc',
    'a',
    'b',
    'c',
    'sub/deep',
    '../../../activities',
    root,
  ];
  const links = fc.record({
    a: fc.constantFrom(...targets),
    b: fc.constantFrom(...targets),
    c: fc.constantFrom(...targets),
  });
  const segment = fc.constantFrom(
    'a',
    'b',
    'c',
    '..',
    '.',
    'sub',
    'deep',
    'file',
    'secret',
    'new',
    'etc',
    'passwd',
    '',
  );
  let n = 0;
  await fc.assert(
    fc.asyncProperty(links, fc.array(segment, { minLength: 1, maxLength: 7 }), async (made, segments) => {
      const here = join(root, `tree-${n++}`);
      mkdirSync(join(here, 'sub/deep'), { recursive: true });
      for (const [name, target] of Object.entries(made)) symlinkSync(target, join(here, name));
      try {
        const { path, existing } = confine({ root: here }, segments.join('/'));
        expect(isInside(here, path)).toBe(true);
        expect(isInside(here, realpathSync(existing))).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(ToolFailure);
      }
    }),
    { numRuns: 300 },
  );
  expect(outer).not.toBe(root);
});
