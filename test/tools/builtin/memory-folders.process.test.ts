// Folders of memory stores below /mnt, as the tools of a session use them, in each sandbox there is.
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { callTool } from '../../../activities/calls/call-tool.ts';
import {
  Memories,
  MEMORY_STORES,
  newMemoryId,
  newVersionId,
  openMemoryStores,
} from '../../../store/memories/memories.ts';
import { ResourceLog } from '../../../store/values/resource-log.ts';
import { createRunRegistries } from '../../../tools/builtin/run-tools.ts';
import { createBuiltinTools } from '../../../tools/builtin/builtin-tools.ts';
import { createRegistry } from '../../../tools/registry.ts';
import type { Sandbox } from '../../../tools/sandbox.ts';
import type { RunMount } from '../../../workflows/contract/mounts.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const sandboxes = await workingSandboxes();
const confining = sandboxes.filter(({ kind }) => kind === 'bwrap');
const any = sandboxes.at(-1) as Sandbox;
const STORE = 'memstore_notes';
const AT = '/mnt/memory/notes';
const person = { person: 'ana' };

type Place = ReturnType<typeof place>;

function place(sandbox: Sandbox = any, access: RunMount['access'] = 'read_write', store = memoryStore()) {
  const root = tempFolder();
  const open = (session: string) => {
    const cwd = join(root, session);
    mkdirSync(cwd, { recursive: true });
    const mounts: readonly RunMount[] = [{ path: AT, access, memory: { store: STORE, session } }];
    const options = { sandbox, dataDir: tempFolder(), openMemoryStore: openMemoryStores(store, Date.now) };
    const registry = createRunRegistries(
      createRegistry(createBuiltinTools(options)),
      options,
    )({ toolset: 'agent_toolset_20260401', mounts, cwd });
    const run = async (name: string, input: unknown): Promise<string> => {
      const tool = registry.get(name)!;
      const ran = await callTool(tool, inputFor(tool, input), toolContext(cwd, { session }));
      if (ran.kind === 'failed') return `failed: ${ran.text}`;
      if (ran.kind !== 'output') throw new Error(ran.kind);
      return ran.output.content;
    };
    return { cwd, folder: `${cwd}.mnt/memory/notes`, run, registry };
  };
  const { memories } = openMemoryStores(store, Date.now)(STORE);
  const stores = new ResourceLog<{ archived_at: string | null }>({ store, name: MEMORY_STORES, now: Date.now });
  const note = (archived_at: string | null) => stores.append('ana', () => ({ id: STORE, item: { archived_at } }));
  return { open, memories, note, store };
}

async function openPlace(...of: Parameters<typeof place>): Promise<Place> {
  const made = place(...of);
  await made.note(null);
  return made;
}

const seed = (memories: Memories, path: string, text: string): Promise<void> =>
  memories.create(person, { memory: newMemoryId(), version: newVersionId() }, { path, text });

async function textsOf(memories: Memories): Promise<Readonly<Record<string, string>>> {
  const all = [...(await memories.list()).values()];
  return Object.fromEntries(
    await Promise.all(all.map(async (one) => [one.path, await memories.readText(one)] as const)),
  );
}

const authorsOf = async (memories: Memories) => [...(await memories.versions()).values()].map(({ by }) => by);

describe('file tools', () => {
  test('read and write the memories of a store below /mnt, as the session (G67)', async () => {
    const { open, memories } = await openPlace();
    await seed(memories, '/size.md', 'medium');
    const { run } = open('sesn_a');
    expect(await run('read', { file_path: `${AT}/size.md` })).toContain('medium');
    expect(await run('glob', { pattern: '**/*.md', path: '/mnt/memory' })).toContain(`${AT}/size.md`);
    expect(await run('glob', { pattern: `${AT}/*.md` })).toContain(`${AT}/size.md`);
    expect(await run('grep', { pattern: 'med.um', path: AT })).toContain(`${AT}/size.md:1:medium`);
    expect(await run('write', { file_path: `${AT}/style/colours.md`, content: 'earth tones' })).toContain(AT);
    await run('edit', { file_path: `${AT}/size.md`, old_string: 'medium', new_string: 'large' });
    expect(await textsOf(memories)).toEqual({ '/size.md': 'large', '/style/colours.md': 'earth tones' });
    expect(await authorsOf(memories)).toEqual([person, { session: 'sesn_a' }, { session: 'sesn_a' }]);
  });

  test('look at the store before each call, and again after one that may write (G67)', async () => {
    const { open, memories } = await openPlace();
    await seed(memories, '/a', 'one');
    const { run } = open('sesn_a');
    const looks = vi.spyOn(Memories.prototype, 'versions');
    onTestFinished(() => looks.mockRestore());
    const input = { file_path: `${AT}/a` };
    const counts: number[] = [];
    for (const [name, more] of [
      ['read', {}],
      ['write', { content: 'two' }],
    ] as const) {
      looks.mockClear();
      await run(name, { ...input, ...more });
      counts.push(looks.mock.calls.length);
    }
    expect(counts).toEqual([1, 2]);
  });

  test('see what another session wrote meanwhile (G67)', async () => {
    const { open, memories } = await openPlace();
    const [a, b] = [open('sesn_a'), open('sesn_b')];
    await a.run('write', { file_path: `${AT}/x`, content: 'from a' });
    expect(await b.run('read', { file_path: `${AT}/x` })).toContain('from a');
    await b.run('write', { file_path: `${AT}/x`, content: 'from b' });
    expect(await a.run('read', { file_path: `${AT}/x` })).toContain('from b');
    expect(await textsOf(memories)).toEqual({ '/x': 'from b' });
  });

  test('change nothing in a store that is attached to be read (G67)', async () => {
    const { open, memories } = await openPlace(any, 'read_only');
    await seed(memories, '/a', 'kept');
    const { run } = open('sesn_a');
    expect(await run('read', { file_path: `${AT}/a` })).toContain('kept');
    expect(await run('write', { file_path: `${AT}/a`, content: 'changed' })).toContain('outside the workspace');
    expect(await run('write', { file_path: `${AT}/b`, content: 'new' })).toContain('outside the workspace');
    expect(await textsOf(memories)).toEqual({ '/a': 'kept' });
  });

  test.each([`${AT}/../../../etc/passwd`, '/mnt/memory/../../etc/passwd', '/mnt/../etc/passwd', `${AT}/a\0b`])(
    'find nothing outside by %j (G67)',
    async (path) => {
      const { open } = await openPlace();
      const { run } = open('sesn_a');
      expect(await run('read', { file_path: path })).toMatch(/^failed: /);
      expect(await run('write', { file_path: path, content: 'x' })).toMatch(/^failed: /);
    },
  );
});

describe('a folder', () => {
  test('that was written to before its worker died is kept once, by the next call (G67)', async () => {
    const { open, memories } = await openPlace();
    await seed(memories, '/a', 'one');
    const before = open('sesn_a');
    await before.run('glob', { pattern: '*', path: AT });
    writeFileSync(join(before.folder, 'a'), 'two');
    writeFileSync(join(before.folder, 'b'), 'new');
    const { run, folder } = open('sesn_a');
    await run('glob', { pattern: '*', path: AT });
    // Its version was stored, and what both sides hold was not.
    rmSync(`${folder.replace('/memory/notes', '')}-state`, { recursive: true });
    await run('glob', { pattern: '*', path: AT });
    expect(await textsOf(memories)).toEqual({ '/a': 'two', '/b': 'new' });
    expect((await memories.versions()).size).toBe(3);
  });

  test('whose worker died after it gave a text overwrites no newer one with that (G67)', async () => {
    const { open, memories } = await openPlace();
    await seed(memories, '/a', 'one');
    const { run, folder } = open('sesn_a');
    await run('glob', { pattern: '*', path: AT });
    const state = `${folder.replace('/memory/notes', '')}-state/${STORE}/state.json`;
    const before = readFileSync(state);
    writeFileSync(join(folder, 'a'), 'two');
    await run('glob', { pattern: '*', path: AT });
    writeFileSync(state, before);
    const [memory] = (await memories.list()).keys();
    await memories.update(person, memory!, { text: 'three' });
    await run('glob', { pattern: '*', path: AT });
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('three');
    expect(await textsOf(memories)).toEqual({ '/a': 'three' });
    expect((await memories.versions()).size).toBe(3);
  });

  test('with a part that cannot be read stops no tool, and deletes nothing (G67)', async () => {
    const { open, memories } = await openPlace();
    await seed(memories, '/x/a', 'kept');
    const { run, folder } = open('sesn_a');
    await run('glob', { pattern: '*', path: AT });
    chmodSync(join(folder, 'x'), 0o000);
    expect(await run('glob', { pattern: '*', path: AT })).not.toContain('failed');
    chmodSync(join(folder, 'x'), 0o700);
    await run('glob', { pattern: '*', path: AT });
    expect(await textsOf(memories)).toEqual({ '/x/a': 'kept' });
  });

  test('that is gone deletes no memory, and a file that is gone deletes its own (G67)', async () => {
    const { open, memories } = await openPlace();
    await seed(memories, '/a', '1');
    await seed(memories, '/b/c', '2');
    const { run, folder } = open('sesn_a');
    await run('glob', { pattern: '*', path: AT });
    rmSync(folder, { recursive: true });
    await run('glob', { pattern: '*', path: AT });
    expect(readFileSync(join(folder, 'b/c'), 'utf8')).toBe('2');
    rmSync(join(folder, 'a'));
    await run('glob', { pattern: '*', path: AT });
    expect(await textsOf(memories)).toEqual({ '/b/c': '2' });
  });

  test('gives the store nothing through a link, and no file that can be no memory (G67)', async () => {
    const { open, memories } = await openPlace();
    await seed(memories, '/a', 'kept');
    const { run, folder, cwd } = open('sesn_a');
    await run('glob', { pattern: '*', path: AT });
    writeFileSync(join(cwd, 'secret'), 'secret');
    mkdirSync(join(cwd, 'secrets'));
    writeFileSync(join(cwd, 'secrets/key'), 'secret');
    symlinkSync(join(cwd, 'secret'), join(folder, 'link'));
    symlinkSync(join(cwd, 'secrets'), join(folder, 'folder'));
    rmSync(join(folder, 'a'));
    symlinkSync(join(cwd, 'secret'), join(folder, 'a'));
    writeFileSync(join(folder, 'large'), 'x'.repeat(102_401));
    writeFileSync(join(folder, 'binary'), Buffer.from([0xff, 0xfe, 0x00]));
    writeFileSync(join(folder, 'line\u2028'), 'x');
    const told = await run('write', { file_path: `${AT}/ok`, content: 'fine' });
    for (const name of ['link', 'folder', 'a', 'large', 'binary', 'line\u2028'])
      expect(told).toContain(`(${AT}/${name}: not kept as a memory: `);
    expect(await run('glob', { pattern: '*', path: AT })).not.toContain('not kept');
    expect(await textsOf(memories)).toEqual({ '/a': 'kept', '/ok': 'fine' });
    expect(existsSync(join(cwd, 'secret'))).toBe(true);
  });

  test('tells its model of 20 files that are no memories, counts the others, and repeats nothing (G67)', async () => {
    const { open } = await openPlace();
    const { run, folder } = open('sesn_a');
    await run('glob', { pattern: '*', path: AT });
    for (let n = 0; n < 30; n += 1) symlinkSync('nowhere', join(folder, `${n}`));
    expect(await run('read', { file_path: `${AT}/missing` })).toMatch(/^failed: /);
    const told = await run('glob', { pattern: '*.md', path: AT });
    expect(told.match(/not kept as a memory/g)).toHaveLength(20);
    expect(told).toContain('(and 10 more notes');
    expect(await run('glob', { pattern: '*.md', path: AT })).not.toContain('not');
    expect(await open('sesn_a').run('glob', { pattern: '*.md', path: AT })).not.toContain('not kept');
  });

  test('tells what a run that died could not tell (G67)', async () => {
    const { open } = await openPlace();
    const { run, folder } = open('sesn_a');
    await run('glob', { pattern: '*', path: AT });
    symlinkSync('nowhere', join(folder, 'link'));
    await run('read', { file_path: `${AT}/missing` });
    expect(await open('sesn_a').run('glob', { pattern: '*', path: AT })).toContain(`${AT}/link: not kept`);
  });

  test('of an archived store keeps what it holds, and its model learns that it is not kept (G67)', async () => {
    const { open, memories, note } = await openPlace();
    const { run, folder } = open('sesn_a');
    await run('write', { file_path: `${AT}/a`, content: 'before' });
    await note('2026-01-01T00:00:00Z');
    expect(await run('write', { file_path: `${AT}/a`, content: 'after' })).toContain('is archived');
    expect(await run('glob', { pattern: '*', path: AT })).not.toContain('is archived');
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('after');
    expect(await textsOf(memories)).toEqual({ '/a': 'before' });
  });
});

describe.each(confining)('commands in $kind', (sandbox) => {
  test('find the folder below /mnt, and what they write there are memories (G67)', async () => {
    const { open, memories } = await openPlace(sandbox);
    await seed(memories, '/a.md', 'one\n');
    const { run, folder } = open('sesn_a');
    expect(await run('bash', { command: `cat ${AT}/a.md; ls /mnt/memory` })).toBe('one\nnotes');
    await run('bash', {
      command: `cd ${AT} && echo two >> a.md && mkdir -p x && echo new > x/b && ln -s /etc/passwd p`,
    });
    expect(await textsOf(memories)).toEqual({ '/a.md': 'one\ntwo\n', '/x/b': 'new\n' });
    expect(await run('bash', { command: `rm -r ${AT}/x; touch /mnt/other` })).toContain('Read-only');
    expect(await textsOf(memories)).toEqual({ '/a.md': 'one\ntwo\n' });
    linkSync(join(folder, 'a.md'), join(folder, 'same.md'));
    expect(await run('bash', { command: `cat ${AT}/same.md` })).toContain('two');
  });

  test('cannot write to a store that is attached to be read (G67)', async () => {
    const { open, memories } = await openPlace(sandbox, 'read_only');
    await seed(memories, '/a', 'kept');
    const { run } = open('sesn_a');
    expect(await run('bash', { command: `echo x > ${AT}/a || cat ${AT}/a` })).toContain('kept');
    expect(await textsOf(memories)).toEqual({ '/a': 'kept' });
  });

  test('of two sessions that write one memory at once leave both texts as versions (G67)', async () => {
    const { open, memories } = await openPlace(sandbox);
    await seed(memories, '/n', '0');
    const sessions = ['sesn_a', 'sesn_b'].map((name) => ({ name, ...open(name) }));
    for (let n = 1; n <= 3; n += 1) {
      const ran = sessions.map(({ name, run }) =>
        run('bash', { command: `echo ${name} ${n} > ${AT}/n; echo written` }),
      );
      for (const output of await Promise.all(ran))
        expect(output).toMatch(/^written(\n\(.*your text is the newest.*\))?$/);
    }
    const versions = [...(await memories.versions()).values()];
    const texts = await Promise.all(versions.map(({ text }) => memories.readText(text!)));
    for (const { name } of sessions) for (const n of [1, 2, 3]) expect(texts).toContain(`${name} ${n}\n`);
  });
});
