// Runs a session of many turns and counts, as V8 does, how often each function of the product is
// called. Prints, as JSON, those that a late turn calls more often than an early one. Arguments: the
// built product, and as JSON the call of each turn.
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [product, call] = process.argv.slice(2);
const { reply, runInMemory, toolUse } = await import(
  pathToFileURL(join(product, 'dist', 'client', 'testing', 'index.js')).href
);
/** Turns between two looks, the first of them at turn 40. */
const STRETCH = 15;
const [EARLY, LATE] = [40, 140];
/** More calls a turn, which is one for each fifth turn before it: timers and retries call less. */
const GROWTH = (LATE - EARLY) / 5;
/** What a test's model does with a conversation is no part of a turn. */
const OURS = /\/dist\/(?!scripted-model\/|client\/testing\/)/;

const session = new Session();
session.connect();
function ask(method, params) {
  let answer;
  session.post(method, params, (error, result) => {
    if (error) throw new Error(error.message);
    answer = result;
  });
  return answer;
}
ask('Profiler.enable');
ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** Calls of each function since the last look. */
function look() {
  const counts = new Map();
  for (const { url, functions } of ask('Profiler.takePreciseCoverage').result) {
    if (!OURS.test(url)) continue;
    for (const { functionName, ranges } of functions) {
      const [{ startOffset, count }] = ranges;
      counts.set(`${url.replace(OURS, '/').replace(/^.*?\/\/?(?=[a-z])/, '')} ${functionName} ${startOffset}`, count);
    }
  }
  return counts;
}

const looks = new Map();
const [name, input] = JSON.parse(call);
let turn = 0;
const ran = await runInMemory({
  prompt: 'Begin.',
  config: { snapshots: true, maxSameResults: false },
  options: { maxTurns: 1_000 },
  script: () => {
    turn += 1;
    if ([EARLY, EARLY + STRETCH, LATE, LATE + STRETCH].includes(turn)) looks.set(turn, look());
    if (turn === 1) return reply([toolUse('write', { path: 'a.txt', content: 'a' })]);
    return turn > LATE + STRETCH ? reply('Done.') : reply([toolUse(name, input)]);
  },
});
if (ran.reason !== 'completed') throw new Error(`the run ended with ${ran.reason}`);
const [early, late] = [looks.get(EARLY + STRETCH), looks.get(LATE + STRETCH)];
const grown = [...late].flatMap(([of, count]) => {
  const before = early.get(of) ?? 0;
  const isGrown = count - before > STRETCH * GROWTH;
  return isGrown ? [{ of, early: before / STRETCH, late: count / STRETCH }] : [];
});
process.stdout.write(`${JSON.stringify({ functions: late.size, grown })}\n`);
process.exit(0);
