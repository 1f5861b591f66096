// Rewinds of a session that worked in a folder and in one that lies in it.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Attempt } from '../../../activities/attempt.ts';
import { previewRoots } from '../../../activities/snapshots/rewind-means.ts';
import { rewindRoots } from '../../../activities/snapshots/rewind-roots.ts';
import { runGitHeld } from '../../../activities/snapshots/run-git-held.ts';
import { planRewind } from '../../../client/sessions/files/plan-rewind.ts';
import type { Entry } from '../../../store/log/entries.ts';
import type { StoredSegment } from '../../../store/log/read-chain.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { describeSnapshot, DEFAULT_CAPS, takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import type { FolderRewind } from '../../../workflows/contract/rewind.ts';
import { reply, runStarted, user } from '../../support/transcript.ts';
import { tempFolder } from '../../tools/support.ts';

const session = 's-1' as SessionId;
const signal = new AbortController().signal;
const attempt = { session, signal, fence: () => Promise.resolve(true) } as unknown as Attempt;

/** A session whose runs each work in one folder. */
async function openSession() {
  const [p, dataDir] = [tempFolder(), join(tempFolder(), 'data')];
  for (const folder of [dataDir, join(p, 'sub')]) mkdirSync(folder);
  const sh = (script: string) => execFileSync('sh', ['-ec', script], { cwd: p, encoding: 'utf8' });
  const options = { sandbox: await probeSandbox({ kinds: ['group'] }), dataDir, caps: DEFAULT_CAPS };
  const known = new Map<string, string>();
  const capture = async (root: string): Promise<Entry> => {
    const means = { place: placeOfRoot(dataDir, session, root), git: 'git', run: runGitHeld(options, signal) };
    const taken = await takeSnapshot({ ...means, caps: DEFAULT_CAPS }, known.get(root) ?? null);
    known.set(root, taken.id);
    return { kind: 'files', roots: [describeSnapshot(root, taken)], at: 0 };
  };
  const chain: StoredSegment[] = [];
  let first = 0;
  const run = async (root: string, script: string) => {
    const before = await capture(root);
    sh(script);
    const entries = [runStarted(chain.length + 1), user('Go.'), before, reply([]), await capture(root)];
    const parent = chain.at(-1)?.hash ?? null;
    chain.push({
      hash: `h-${first}` as Hash,
      bytes: 1,
      segment: { first, entries, parent },
    } as unknown as StoredSegment);
    first += entries.length;
  };
  let step = 0;
  const rewind = async (roots: readonly FolderRewind[], force = false) => {
    const about = { step: (step += 1), roots, attempt, ...(force && { force: true as const }) };
    const looked = await previewRoots(options, about);
    const done = await rewindRoots(options, about);
    if (done.kind === 'refused') throw new Error(done.problem);
    expect(looked).not.toMatchObject({ roots: [{ problems: expect.anything() as unknown }] });
    return done.roots.map(({ root, before, to, after = to }): FolderRewind => ({ root, known: after, to: before }));
  };
  const plan = (to: number) => planRewind(chain, String(to), {}).rewind.files ?? [];
  return { p, sub: join(p, 'sub'), sh, run, plan, rewind };
}

test('a session that worked in a folder and then in the one above goes back, and undoes it (T7)', async () => {
  const { p, sub, sh, run, plan, rewind } = await openSession();
  sh('echo 1 > sub/f; echo 1 > g');
  await run(sub, 'echo 2 > sub/f');
  await run(p, 'echo 3 > sub/f; echo 2 > g; mkdir sub/made');
  const undo = await rewind(plan(6));
  expect(sh('cat sub/f g; ls sub')).toBe('2\n1\nf\n');
  await rewind(undo);
  expect(sh('cat sub/f g; ls sub')).toBe('3\n2\nf\nmade\n');
  // What the session knows of the folder above is newer than of this one.
  const again = await rewind(plan(1));
  expect(sh('cat sub/f g')).toBe('1\n2\n');
  await rewind(again);
  sh('echo mine > sub/f');
  await expect(rewind(plan(1))).rejects.toThrow('f was changed by someone else');
  await expect(rewind(plan(6))).rejects.toThrow('sub/f was changed by someone else');
});

test('a session that worked in a folder and then in one that lies in it goes back to before each (T7)', async () => {
  const { p, sub, sh, run, plan, rewind } = await openSession();
  sh('echo 1 > sub/f; echo 1 > g; chmod 755 sub');
  await run(p, 'echo 2 > sub/f; echo 2 > g');
  await run(sub, 'echo 3 > sub/f; chmod 700 sub');
  const files = plan(6);
  expect(files.map(({ root }) => root).toSorted()).toEqual([p, sub]);
  const undo = await rewind(files);
  expect(sh('cat sub/f g; stat -c %a sub')).toBe('2\n2\n755\n');
  await rewind(undo);
  expect(sh('cat sub/f g; stat -c %a sub')).toBe('3\n2\n700\n');
  await rewind(plan(1));
  expect(sh('cat sub/f g; stat -c %a sub')).toBe('1\n1\n755\n');
});
