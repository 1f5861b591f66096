// A folder or file that is swapped for a link between the check and the use.
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { confine } from '../../../../tools/builtin/files/confine.ts';
import { openFile } from '../../../../tools/builtin/files/open-inside.ts';
import { findPrograms } from '../../../../system/process/programs.ts';
import { Superseded, ToolFailure } from '../../../../tools/tool.ts';
import { writeInside } from '../../../../tools/builtin/files/write-inside.ts';
import { tempFolder } from '../../support.ts';

function place(): { root: string; outside: string } {
  const outer = tempFolder();
  const [root, outside] = [join(outer, 'ws'), join(outer, 'outside')];
  for (const folder of [join(root, 'sub'), outside]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(root, 'sub/file'), 'inside');
  writeFileSync(join(outside, 'file'), 'outside');
  return { root, outside };
}

const options = {
  fence: async () => undefined,
  signal: new AbortController().signal,
  unchanged: null,
  programs: findPrograms(process.env),
};

test('a folder that became a link outside is not read through', async () => {
  const { root, outside } = place();
  const confined = confine({ root }, 'sub/file');
  renameSync(join(root, 'sub'), join(root, 'moved'));
  symlinkSync(outside, join(root, 'sub'));
  await expect(openFile({ root }, confined)).rejects.toThrow(ToolFailure);
});

test('a file that became a link outside is not read through', async () => {
  const { root, outside } = place();
  const confined = confine({ root }, 'sub/file');
  rmSync(join(root, 'sub/file'));
  symlinkSync(join(outside, 'file'), join(root, 'sub/file'));
  await expect(openFile({ root }, confined)).rejects.toThrow(ToolFailure);
});

test.each(['sub/file', 'sub/new', 'sub/new/deeper'])(
  'a folder that became a link outside is not written through: %s',
  async (path) => {
    const { root, outside } = place();
    const confined = confine({ root }, path);
    renameSync(join(root, 'sub'), join(root, 'moved'));
    symlinkSync(outside, join(root, 'sub'));
    await expect(writeInside({ root }, confined, Buffer.from('x'), options)).rejects.toThrow(ToolFailure);
    expect(readdirSync(outside)).toEqual(['file']);
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('outside');
  },
);

test('a missing folder that meanwhile became a link outside is not written through', async () => {
  const { root, outside } = place();
  const confined = confine({ root }, 'fresh/file');
  symlinkSync(outside, join(root, 'fresh'));
  await expect(writeInside({ root }, confined, Buffer.from('x'), options)).rejects.toThrow(ToolFailure);
  expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('outside');
});

test('a folder that is swapped again and again never lets a write out', async () => {
  const { root, outside } = place();
  const tried = new Set<string>();
  const write = async (n: number): Promise<void> => {
    try {
      await writeInside({ root }, confine({ root }, `sub/f${n}`), Buffer.from('x'), options);
      tried.add('written');
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw error;
      tried.add('refused');
    }
  };
  for (let n = 0; n < 300; n++) {
    const writing = write(n);
    // At another moment of the write each time.
    for (let tick = 0; tick < n % 40; tick++) await new Promise(setImmediate);
    if (n % 40 === 39) await writing;
    renameSync(join(root, 'sub'), join(root, 'moved'));
    symlinkSync(outside, join(root, 'sub'));
    await writing;
    rmSync(join(root, 'sub'));
    renameSync(join(root, 'moved'), join(root, 'sub'));
  }
  expect(readdirSync(outside)).toEqual(['file']);
  expect(tried).toEqual(new Set(['written', 'refused']));
});

test('a file that something else changed since it was read is not overwritten', async () => {
  const { root } = place();
  const target = confine({ root }, 'sub/file');
  const { handle, stats } = await openFile({ root }, target);
  handle.close();
  await writeInside({ root }, target, Buffer.from('theirs'), { ...options, unchanged: stats });
  const mine = writeInside({ root }, target, Buffer.from('mine'), { ...options, unchanged: stats });
  await expect(mine).rejects.toThrow('"sub/file" was changed by something else meanwhile: read it again.');
  expect(readFileSync(join(root, 'sub/file'), 'utf8')).toBe('theirs');
});

test('an attempt that was given up while it was frozen writes nothing', async () => {
  const { root } = place();
  const target = confine({ root }, 'sub/file');
  const late = writeInside({ root }, target, Buffer.from('late'), {
    ...options,
    fence: () => Promise.reject(new Superseded()),
  });
  await expect(late).rejects.toThrow(Superseded);
  expect(readdirSync(join(root, 'sub'))).toEqual(['file']);
  expect(readFileSync(join(root, 'sub/file'), 'utf8')).toBe('inside');
});
