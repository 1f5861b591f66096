// What `npm test` runs: two tiers whole, and of each other tier the files that prove its heart. It
// takes a few minutes, needs no program but the Temporal server, and no package that is not
// installed. The rest is `npm run test:rest`.
import { findChromium, isInstalled } from './support/programs.mjs';

/** @type {readonly string[]} */
export const wholeTiers = ['fast', 'process'];

const usingRedis = [
  'test/store/live/follow-live.process.test.ts',
  'test/store/live/redis-live.process.test.ts',
  'test/store/live/redis-problems.process.test.ts',
];

/** By tier; paths from the project's folder. @type {Readonly<Record<string, readonly string[]>>} */
export const heart = {
  server: [
    'test/server/scenarios.test.ts',
    'test/server/approvals.test.ts',
    'test/server/stops.test.ts',
    'test/server/messages.test.ts',
  ],
  crash: ['test/crash/killed-worker.test.ts', 'test/crash/frozen-worker.test.ts', 'test/crash/walks.test.ts'],
  commands: ['test/commands/run.test.ts', 'test/commands/stops.test.ts', 'test/commands/readme.test.ts'],
  browser: ['test/browser/session.test.ts'],
  attacks: [
    'test/attacks/denied-commands.test.ts',
    'test/attacks/foreign-api.test.ts',
    'test/attacks/options.test.ts',
    'test/attacks/programs.test.ts',
    'test/attacks/sandbox.test.ts',
    'test/attacks/shell.test.ts',
  ],
};

/**
 * Programs that the heart uses where they are installed. `npm test` leaves out the files that
 * cannot do without one, and says so.
 * @type {readonly { isThere: () => boolean, isUsedBy: (tier: string, file: string) => boolean,
 * leftOut: string }[]}
 */
export const optionalPrograms = [
  {
    isThere: () => findChromium() !== undefined,
    isUsedBy: (tier) => tier === 'browser',
    leftOut: 'the page in a browser, for no Chromium is installed',
  },
  {
    isThere: () => isInstalled('redis-server'),
    isUsedBy: (_, file) => usingRedis.includes(file),
    leftOut: 'the live channel on a Redis, for no redis-server is installed',
  },
  {
    isThere: () => process.platform !== 'linux' || isInstalled('bwrap'),
    isUsedBy: () => false,
    leftOut: 'tests of what runs in bubblewrap, for no bwrap is installed',
  },
];
