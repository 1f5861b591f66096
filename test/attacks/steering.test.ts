// What is said to a session from another terminal is worked on, or whoever says it is told that nobody does.
import { expect, it } from 'vitest';
import type { LiveEvent } from '../../activities/live/events.ts';
import type { Cli } from '../../client/cli/cli.ts';
import { textsLast } from '../../client/cli/main.ts';
import { program } from '../../client/cli/program.ts';
import { gate, reply } from '../../worker/scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { all, description, ended, followed, looking, message } from '../client/support.ts';

const results = (out: string) => jsonLines(out).filter(({ type }) => type === 'result');

it.each([[['run', '--json', '- begin']], [['watch', '--json']]])(
  'L32 L61 `%s` with the only worker goes on with what was sent to its session meanwhile, until it is idle',
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
    expect(command.err()).toContain('the session received another message: this process continues with it');
    expect(jsonLines((await place.run('list', '--json')).out)).toMatchObject([{ session: id, phase: 'idle', runs: 2 }]);
  },
);

it.each([
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
])('takes what begins with a dash and has a blank for a text: %j', (given, taken) => {
  expect(textsLast(program({} as Cli), given)).toEqual(taken);
});

const start = (run: number): LiveEvent => {
  return { type: 'run_start', run, queryId: 'q', depth: 0, cwd: '/work', model: 'm', scripted: false };
};
const said = (text: string): LiveEvent => ({ type: 'text_delta', iteration: 1, index: 0, text });

/** `send --now` ends run 1; run 2 has begun, and with it the live channel has forgotten how run 1 ended. */
async function endForgotten() {
  const s = await followed({ run: 1, messages: ['a'] }, { run: 2, messages: ['b'] });
  await s.tell(1, start(1), said('answer 1'));
  await s.tell(4, start(2), said('half of answ'));
  const first = { ...ended({ run: 1, messages: ['a'] }), head: s.head };
  const look = looking(4, description({ runs: 1 }), description({ runs: 2, last: first }));
  return { s, look };
}

it.each([[undefined], ['a']])(
  'L61 a follower of run 1 (by message: %s) shows nothing of run 2 when the end of run 1 was forgotten before it was read',
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

it('L61 a follower of the next message shows both runs, the second from the moment the first is known to have ended', async () => {
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
