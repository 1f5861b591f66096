// A restore that is killed right before each of its steps, and attempted again.
import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { previewRestore } from '../../../store/snapshots/preview-restore.ts';
import { restore } from '../../../store/snapshots/restore.ts';
import { shadowed } from './support.ts';

const PROGRAM = join(import.meta.dirname, 'restore-killed.mjs');

/** Type, mode and content of all that lies there. */
function look(root: string): string {
  const script = `find . -printf '%y %m %p %l\\n' | sort; find . -type f -print0 | sort -z | xargs -0 -r sha256sum`;
  return String(spawnSync('bash', ['-c', script], { cwd: root }).stdout);
}

const THEN = `
  echo old > changed; chmod 640 changed; echo old > d; mkdir -p keep/deep; chmod 700 keep; echo 1 > keep/deep/one; ln -s changed link
  echo run > run; chmod 755 run; mkdir -p was/empty; mkdir f; echo in > f/in; chmod 600 f/in; mkdir -m 755 stays; echo s > stays/s; mkdir locked; echo 1 > locked/in; chmod 500 locked
`;
const NOW = `
  echo new > changed; chmod 640 changed; mkdir -p d/x; echo in > d/in; mkdir keep; echo 2 > keep/two; ln -s keep link
  echo run > run; chmod 644 run; mkdir -p new/nested/empty; echo n > new/n; echo f > f; mkdir -m 777 stays; echo s > stays/s; mkdir locked; echo 2 > locked/in; chmod 555 locked
`;

test('a restore that is killed before any of its steps is finished by the next, and leaves no file of its own (T7 T9)', async () => {
  const { root, place, means, sh, take } = shadowed();
  const clear = 'find . -mindepth 1 -delete';
  sh(THEN);
  const target = look(root);
  const { id: to } = await take();
  sh(`${clear}; ${NOW}`);
  const { id: known } = await take();
  const { changes } = await previewRestore(means, { known, now: known, to, force: false });
  const paths = (isDeleted: boolean) =>
    changes.flatMap(({ kind, path }) => ((kind === 'deleted') === isDeleted && !path.endsWith('/') ? [path] : []));
  const lists = { written: paths(false), deleted: paths(true), permitted: ['stays', 'locked'] };
  const request = { place, git: 'git', to, from: known, known, apart: [], run: '0123abcd', ...lists };
  let steps: readonly string[] = [];
  for (let at = 1; steps.length === 0; at += 1) {
    sh(`${clear}; ${NOW}`);
    await take();
    const path = join(place.own, 'restore.json');
    writeFileSync(path, JSON.stringify(request));
    const { status, signal, stdout } = spawnSync(process.execPath, [PROGRAM, path, 'any', String(at)], {
      encoding: 'utf8',
    });
    if (status === 0) steps = JSON.parse(stdout) as readonly string[];
    else expect(signal).toBe('SIGKILL');
    // A file that both snapshots have is the one or the other at any moment.
    expect(sh('cat changed')).toMatch(/^(?:old|new)\n$/);
    expect(sh('readlink link')).toMatch(/^(?:changed|keep)\n$/);
    const { id: now } = await take();
    expect(
      readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.perdure')),
    ).toEqual([]);
    const left = await previewRestore(means, { known: now, now, to, force: false });
    await restore(means, { now, known: now, to, changes: left.changes });
    expect(look(root)).toBe(target);
    expect(readdirSync(place.own)).not.toContain('restore.json');
  }
  const kinds = [
    'create',
    'fill',
    'keep',
    'replace',
    'permit',
    'delete',
    'remove_folder',
    'make_folder',
    'close_folder',
    'permit_folder',
    'end',
  ];
  expect([...new Set(steps)].toSorted()).toEqual(kinds.toSorted());
});
