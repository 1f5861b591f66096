// Who a program is when it is started again: what it had received, and the ids of what it sends.
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisProgram } from '../../../client/agent-sdk/program.ts';
import { formatIdentity, processIdentity } from '../../../activities/process/identity.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** As another process of the same name would open it. */
const started = (root: string, name: string) => {
  const other = join(tempDir(), 'data');
  mkdirSync(other);
  mkdirSync(join(other, 'programs'));
  for (const file of readdirSync(join(root, 'programs')))
    writeFileSync(join(other, 'programs', file), readFileSync(join(root, 'programs', file)));
  return { root: other, program: thisProgram(other, name) };
};

test('a program with a name knows what it had received and continued, but for a line that a crash cut off (Q9)', () => {
  const root = tempDir();
  const first = thisProgram(root, 'daily report');
  const [one, two] = [first.query('a'), first.query('a')];
  expect([one.isKnown, one.received, one.continued]).toEqual([false, 0, undefined]);
  one.note(3);
  one.note(7);
  one.continues('s-found');
  const [log = ''] = readdirSync(join(root, 'programs'));
  appendFileSync(join(root, 'programs', log), `${readFileSync(join(root, 'programs', log), 'utf8').split(' ')[0]} 9`);
  const again = started(root, 'daily report').program;
  const [oneAgain, twoAgain, new3] = [again.query('a'), again.query('a'), again.query('a')];
  expect([oneAgain.isKnown, oneAgain.received, oneAgain.continued]).toEqual([true, 7, 's-found']);
  expect([twoAgain.isKnown, twoAgain.received]).toEqual([true, 0]);
  expect(new3.isKnown).toBe(false);
  expect([oneAgain.session, twoAgain.session]).toEqual([one.session, two.session]);
  expect(one.session).toMatch(/^daily-report-[0-9a-f]{16}$/);
});

test('ids of sessions and messages follow from who asks what, in which place (Q9)', () => {
  const root = tempDir();
  const first = thisProgram(root, 'p');
  const [a, b] = [first.query('a'), first.query('b')];
  const ids = [a.messageId('x'), a.messageId('x'), a.messageId('y'), b.messageId('x')];
  expect(new Set([a.session, b.session, ...ids]).size).toBe(6);
  const again = started(root, 'p').program.query('a');
  expect([again.messageId('x'), again.messageId('x'), again.messageId('y')]).toEqual(ids.slice(0, 3));
  expect(thisProgram(root, 'q').query('a').session).not.toBe(a.session);
});

test('without a name it takes up what a process that died has left, and nothing of one that lives (Q9)', () => {
  const [root, other] = [tempDir(), tempDir()];
  const own = thisProgram(root, undefined).query('a');
  const [owner = ''] = readdirSync(join(root, 'programs')).filter((file) => file.endsWith('.owner'));
  const script = owner.split('-')[0] ?? '';
  mkdirSync(join(other, 'programs'));
  const put = (file: string, text: string): void => writeFileSync(join(other, 'programs', file), text);
  const dead = { ...processIdentity(), startTime: '1' };
  put(`${script}-alive.1.owner`, formatIdentity(processIdentity()));
  put(`${script}-dead.1.owner`, formatIdentity(dead));
  put(`${script}-taken.1.owner`, formatIdentity(dead));
  put(`${script}-taken.2.owner`, formatIdentity(processIdentity()));
  put(`other-dead.1.owner`, formatIdentity(dead));
  const query = thisProgram(other, undefined).query('a');
  expect(query.session).not.toBe(own.session);
  const files = readdirSync(join(other, 'programs'));
  expect(files).toContain(`${script}-dead.2.owner`);
  expect(files.filter((file) => file.endsWith('.owner'))).toHaveLength(6);
  expect(files.filter((file) => file.endsWith('.log'))).toEqual([`${script}-dead.log`]);
});
