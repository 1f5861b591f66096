// What is said to a session from another terminal is worked on, or whoever says it is told that
// nobody does.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LiveEvent } from '../../store/live/events.ts';
import type { Cli } from '../../cli/cli.ts';
import { textsLast } from '../../cli/main.ts';
import { createProgram } from '../../cli/program.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor, type Result } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { all, description, ended, followed, looking, message } from '../client/support.ts';

const results = (out: string) => jsonLines(out).filter(({ type }) => type === 'result');

test.each([[['run', '--json', '- begin']], [['watch', '--json']]])(
  '`%s` with the only worker goes on with what was sent to its session meanwhile, until it is idle (L32 L61)',
  { timeout: 300_000 },
  async (args) => {
    const held = gate();
    const place = cliPlace(
      await modelFor([reply('First.', { hold: held.hold, holdAfterEvent: 4 }), reply('Second.'), reply('Third.')]),
    );
    const started = args[0] === 'watch' ? (await place.run('start', '-- begin')).out.trim() : null;
    const command = place.start(started === null ? args : [...args, started]);
    await until(() => command.out().includes('text_delta'));
    const id = started ?? String(jsonLines(command.out())[0]?.['sessionId']);
    const sent = await place.run('send', id, '-- and more');
    expect(sent).toMatchObject({ status: 0, err: '' });
    held.release();
    expect(await command.status).toBe(0);
    expect(results(command.out())).toMatchObject([
      { run: 1, text: 'First.' },
      { run: 2, text: 'Second.' },
    ]);
    expect(command.err()).toContain('the session received another message: following it');
    expect(jsonLines((await place.run('list', '--json')).out)).toMatchObject([{ session: id, phase: 'idle', runs: 2 }]);
  },
);

test('`run` that is steered by `send --now` tells its own end first, whole, then follows what it was steered with (L32 L61)', async () => {
  const first = gate();
  const second = gate();
  const place = cliPlace(
    await modelFor([
      reply('The long way round.', { hold: first.hold, holdAfterEvent: 4 }),
      reply('The short way.', { hold: second.hold, holdAfterEvent: 4 }),
    ]),
  );
  const command = place.start(['run', '--json', 'go']);
  await until(() => command.out().includes('text_delta'));
  const id = String(jsonLines(command.out())[0]?.['sessionId']);
  expect(await place.run('send', id, 'take the short way', '--now')).toMatchObject({ status: 0, err: '' });
  await until(() => jsonLines(command.out()).some(({ type, run }) => type === 'run_start' && run === 2));
  second.release();
  first.release();
  expect(await command.status).toBe(0);
  const lines = jsonLines(command.out());
  expect(results(command.out())).toMatchObject([
    { run: 1, reason: 'aborted_streaming' },
    { run: 2, reason: 'completed', text: 'The short way.' },
  ]);
  const at = (type: string, run: number) => lines.findIndex((line) => line['type'] === type && line['run'] === run);
  expect(at('result', 1)).toBeLessThan(at('run_start', 2));
  const before = lines.slice(0, at('result', 1)).flatMap(({ type, text }) => (type === 'text_delta' ? [text] : []));
  expect('The long way round.').toContain(before.join(''));
});

type Place = ReturnType<typeof cliPlace>;

const begin = { ...reply('First.'), when: { lastUserText: 'begin' } };
const late = { ...reply('Late.'), when: { lastUserText: 'too late?' } };

const sendLate = (place: Place, session: string): Promise<Result> => place.run('send', session, 'too late?');

/** Beside it, a server that takes long to start says so. */
const isTold = (session: string) => ({
  status: 0,
  err: expect.stringContaining(
    `no worker runs: \`perdure watch ${session}\` starts one and follows the session, \`perdure worker\` starts one that stays\n`,
  ) as string,
});

const listed = async (place: Place, session: string) =>
  jsonLines((await place.run('list', '--json')).out).find((each) => each['session'] === session);

/**
 * As the user's own configuration: a worker that is told to stop finishes what it runs, however
 * long the machine takes.
 */
function drainsForLong(place: Place): { readonly XDG_CONFIG_HOME: string } {
  const folder = join(place.root, 'config', 'perdure');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'perdure.config.mjs'), 'export default { drainMs: 600_000, memory: false };\n');
  return { XDG_CONFIG_HOME: join(place.root, 'config') };
}

test('`send` after a `run` that took the only worker along names a `watch` that works on the message (L32 L61)', async () => {
  const place = cliPlace(await modelFor({ replies: [begin, late] }));
  const ran = await place.run('run', '--json', 'begin');
  const session = String(jsonLines(ran.out)[0]?.['sessionId']);
  expect(await sendLate(place, session)).toMatchObject(isTold(session));
  expect(await listed(place, session)).toMatchObject({ phase: 'idle', runs: 1 });
  const watched = await place.run('watch', '--json', session);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ run: 2, reason: 'completed', text: 'Late.' });
});

test('`send` beside a `run` that only finishes a call of another session names a `worker` that works on it (L32 L61)', async () => {
  const held = gate();
  const command = 'touch begun; until [ -e go ]; do sleep 0.05; done';
  const other = { ...reply([toolUse('bash', { command })]), when: { lastUserText: 'wait', hasToolResult: false } };
  const first = { ...reply('First.', { hold: held.hold, holdAfterEvent: 4 }), when: begin.when };
  const rest = { ...reply('Done.'), when: { hasToolResult: true } };
  const model = await modelFor({ replies: [first, late, other, rest] });
  const place = cliPlace(model);
  const run = place.start(['run', '--json', 'begin'], { env: drainsForLong(place) });
  await until(() => run.out().includes('text_delta'));
  const session = String(jsonLines(run.out())[0]?.['sessionId']);
  await place.run('start', '--permission-mode', 'bypass', 'wait');
  await until(() => existsSync(join(place.cwd, 'begun')));
  held.release();
  await until(() => run.err().includes('ends when its worker has finished what it runs'));
  expect(await sendLate(place, session)).toMatchObject(isTold(session));
  expect(livingMembers(openDataFolder({ PERDURE_DATA: place.data }))).toMatchObject([
    { role: 'command', worker: false },
  ]);
  writeFileSync(join(place.cwd, 'go'), '');
  expect(await run.status).toBe(0);
  place.start(['worker']);
  await until(async () => {
    const seen = await listed(place, session);
    return seen?.['runs'] === 2 && seen['phase'] === 'idle';
  });
  const sentToModel = model.requests.filter(({ body }) => JSON.stringify(body).includes('too late?'));
  expect(sentToModel).toHaveLength(1);
});

test.each([
  [
    ['send', 's-1', '-- text'],
    ['send', 's-1', '--', '-- text'],
  ],
  [
    ['send', 's-1', '- one\n- two', '--now'],
    ['send', 's-1', '--now', '--', '- one\n- two'],
  ],
  [
    ['run', '--json', '--help me with this', '--model', 'm'],
    ['run', '--json', '--model', 'm', '--', '--help me with this'],
  ],
  [
    ['run', '--system-prompt', '- be terse', 'do it'],
    ['run', '--system-prompt', '- be terse', 'do it'],
  ],
  [
    ['run', '--system-prompt=be terse', 'do it'],
    ['run', '--system-prompt=be terse', 'do it'],
  ],
  [
    ['run', '--', '-- text'],
    ['run', '--', '-- text'],
  ],
])('takes what begins with a dash and has a blank for a text: %j', async (given, taken) => {
  expect(textsLast(await createProgram({} as Cli), given)).toEqual(taken);
});

const start = (run: number): LiveEvent => {
  return { type: 'run_start', run, queryId: 'q', depth: 0, cwd: '/work', model: 'm', scripted: false };
};
const said = (text: string): LiveEvent => ({ type: 'text_delta', iteration: 1, index: 0, text });

/**
 * `send --now` ends run 1; run 2 has begun, and with it the live channel has forgotten how run 1
 * ended.
 */
async function endForgotten() {
  const s = await followed({ run: 1, messages: ['a'] }, { run: 2, messages: ['b'] });
  await s.tell(1, start(1), said('answer 1'));
  await s.tell(4, start(2), said('half of answ'));
  const first = { ...ended({ run: 1, messages: ['a'] }), head: s.head };
  const look = looking(4, description({ runs: 1 }), description({ runs: 2, last: first }));
  return { s, look };
}

test.each([[undefined], ['a']])(
  'a follower of run 1 (by message: %s) shows nothing of run 2 when the end of run 1 was forgotten before it was read (L61)',
  async (id) => {
    const { s, look } = await endForgotten();
    const events = await all(s.follow(look.at, id === undefined ? {} : { messageId: message(id) }));
    expect(events.map((event) => (event.type === 'text_delta' ? event.text : event.type))).toEqual([
      'run_start',
      'answer 1',
      'result',
    ]);
    expect(events.at(-1)).toMatchObject({ run: 1, text: 'answer 1' });
  },
);

test('a follower of the next message shows both runs, the second from the moment the first is known to have ended (L61)', async () => {
  const { s, look } = await endForgotten();
  const following = s.follow(look.at, { messageId: message('b') });
  const seen: string[] = [];
  for await (const event of following) {
    seen.push(event.type === 'text_delta' ? event.text : event.type);
    if (event.type === 'text_delta' && event.text === 'half of answ') break;
  }
  expect(seen).toEqual(['run_start', 'answer 1', 'run_start', 'half of answ']);
  expect(look.times).toBeGreaterThan(4);
});
