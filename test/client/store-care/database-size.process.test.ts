import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeFreeRoom, measureDatabase } from '../../../client/store-care/database-size.ts';
import { tempFolder } from '../../tools/support.ts';

test('what a database could give back is told, with what makes it smaller, as SQLite itself counts it', ({ skip }) => {
  skip(spawnSync('python3', ['-c', 'import sqlite3']).status !== 0, 'needs python3 with sqlite3');
  const path = join(tempFolder(), 'temporal.db');
  const run = (...lines: readonly string[]): string =>
    execFileSync(
      'python3',
      ['-c', ['import sqlite3', `db = sqlite3.connect("${path}", isolation_level=None)`, ...lines].join('\n')],
      { encoding: 'utf8' },
    );
  expect(measureDatabase(path)).toBeNull();
  run('db.execute("create table t (x)")', 'for n in range(70): db.execute("insert into t values (zeroblob(1000000))")');
  const full = measureDatabase(path);
  expect(full && describeFreeRoom(path, full)).toBeNull();
  run('db.execute("delete from t")');
  const pages = Number(run('print(db.execute("pragma freelist_count").fetchone()[0] * 4096)'));
  const size = measureDatabase(path);
  expect(size).toEqual({ bytes: full?.bytes, free: pages });
  expect(size && describeFreeRoom(path, size)).toContain(`\`sqlite3 ${path} VACUUM\` makes it smaller`);
  run('db.execute("vacuum")');
  expect(measureDatabase(path)?.bytes).toBeLessThan(1_000_000);
});
